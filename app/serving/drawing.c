#include "app/serving/serving_private.h"

#include "app/graphviz.h"
#include "app/picture.h"

#include <string.h>

/*
 * /graph?model=NAME is the picture of a model's graph, as SVG, in which boxes are folded and unfolded by the numbers that its
 * links have. It is drawn on a thread of its own, one at a time.
 */
static const char protocol[] = "page";

struct drawing {
	struct dfg_arena arena;
	struct dfg_web_request *request;
	struct dfg_served *served;
	struct dfg_live_model *live;
	struct dfg_picture_options options;
};

static void answer(const struct drawing *drawing)
{
	const struct dfg_model *model = &drawing->live->run.model;
	struct dfg_web_answer all = {.status = 200, .type = "image/svg+xml"};
	struct dfg_text dot = {0};
	struct dfg_err *err = dfg_picture_dot(&model->file.graph, &model->facts, &drawing->options, &dot);
	err = dfg_graphviz_svg(err, &dot, &all.body);
	if (!err) {
		dfg_serving_reply(drawing->served, drawing->request, protocol, &all);
		return;
	}
	dfg_text_release(&all.body);
	dfg_serving_error(drawing->served, drawing->request, protocol, err->code == DFG_CONFIG ? 501 : dfg_job_status(err),
		"%s", err->text);
	dfg_err_free(err);
}

static void end_turn(struct dfg_serving *serving)
{
	pthread_mutex_lock(&serving->lock);
	serving->draws = false;
	pthread_cond_broadcast(&serving->traced);
	pthread_mutex_unlock(&serving->lock);
}

static void free_drawing(struct drawing *drawing)
{
	struct dfg_serving *serving = drawing->served->serving;
	dfg_live_model_unref(drawing->live);
	dfg_arena_release(&drawing->arena);
	dfg_free(drawing);
	end_turn(serving);
}

static void *draw(void *arg)
{
	answer(arg);
	free_drawing(arg);
	return NULL;
}

/* False: a picture is being drawn. */
static bool take_turn(struct dfg_serving *serving)
{
	pthread_mutex_lock(&serving->lock);
	bool is_free = !serving->draws;
	serving->draws = true;
	pthread_mutex_unlock(&serving->lock);
	return is_free;
}

static void start(struct dfg_served *served, struct dfg_web_request *request)
{
	pthread_t thread;
	struct drawing *drawing = dfg_zeros(1, sizeof *drawing);
	if (!drawing) {
		dfg_serving_error(served, request, protocol, 503, "no memory for the picture");
		end_turn(served->serving);
		return;
	}
	*drawing = (struct drawing){.request = request, .served = served, .live = dfg_served_live(served)};
	drawing->options = (struct dfg_picture_options){.most = 60,
		.opened = dfg_url_parameter(&drawing->arena, request->query, "open"),
		.folded = dfg_url_parameter(&drawing->arena, request->query, "fold"),
		.links = true};
	if (!pthread_create(&thread, NULL, draw, drawing)) {
		pthread_detach(thread);
		return;
	}
	dfg_serving_error(served, request, protocol, 503, "cannot start a thread for the picture");
	free_drawing(drawing);
}

void dfg_serving_draw(struct dfg_serving *serving, struct dfg_web_request *request)
{
	struct dfg_arena arena = {0};
	const char *model = dfg_url_parameter(&arena, request->query, "model");
	struct dfg_served *served = model ? dfg_serving_find(serving, model) : &serving->served[0];
	if (!served)
		dfg_serving_refuse_model(serving, request, protocol, model, strlen(model));
	else if (!take_turn(serving))
		dfg_serving_error(served, request, protocol, 429, "another picture is being drawn");
	else
		start(served, request);
	dfg_arena_release(&arena);
}
