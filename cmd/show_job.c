#include "cmd/show.h"

#include "lib/base/plural.h"
#include "remote/hosts.h"

#include <string.h>

/* A plan starts elsewhere: a hostfile for mpirun, and the manifest of a job of Kubernetes. */
enum { PORT = 7000, WAIT_SECONDS = 900, IMAGE_MOST = 500 };
#define JOB "dfg"

/* Workers of the plan's replicas; without --replicas there is one for each shard or block. */
static struct dfg_err *count_workers(
	const struct dfg_plan_folder *plan, const struct dfg_show_options *options, uint32_t *out_replicas)
{
	uint32_t most = plan->blocks ? plan->blocks : plan->shards;
	int64_t replicas = options->replicas ? options->replicas : most;
	if (replicas > most)
		return DFG_ERR(DFG_DATA, "--replicas %lld is more than the plan's %u %s%s", (long long)replicas, most,
			plan->blocks ? "block" : "shard", dfg_plural(most));
	if (replicas * plan->parts.parts > DFG_HOSTS_MOST)
		return DFG_ERR(DFG_DATA, "%lld replicas of %u parts are more than %d workers", (long long)replicas,
			plan->parts.parts, DFG_HOSTS_MOST);
	*out_replicas = (uint32_t)replicas;
	return NULL;
}

static void put_host(const struct dfg_worker_host *host, struct dfg_text *out)
{
	const char *name = host->local ? "localhost" : host->addr ? host->addr : host->ssh;
	dfg_text_add(out, "%s\n", name);
}

/* A line for each worker, because programs differ in how a line says that it counts for several. */
static struct dfg_err *put_hostfile(
	const struct dfg_plan_folder *plan, const struct dfg_show_options *options, struct dfg_text *out)
{
	uint32_t replicas = 0, parts = plan->parts.parts;
	struct dfg_arena arena = {0};
	struct dfg_hosts hosts = {0};
	struct dfg_err *err =
		options->hosts ? dfg_err_note(dfg_hosts_read(options->hosts, &arena, &hosts), "--hosts") : NULL;
	if (!err)
		err = count_workers(plan, options, &replicas);
	if (!err && plan->blocks && options->hosts && !options->replicas && hosts.count < replicas)
		replicas = hosts.count;
	uint32_t workers = err ? 0 : replicas * parts;
	if (!err && options->hosts && hosts.count != workers)
		err = DFG_ERR(DFG_DATA, "--hosts has %u workers, but %u replica%s of %u part%s need %u", hosts.count, replicas,
			dfg_plural(replicas), parts, dfg_plural(parts), workers);
	for (uint32_t i = 0; i < workers && !err; i++)
		put_host(options->hosts ? &hosts.worker[i] : &(struct dfg_worker_host){.local = true}, out);
	dfg_arena_release(&arena);
	return err;
}

/* REGISTRY:PORT/NAME:TAG@sha256:..., which needs no quotes in YAML. */
static struct dfg_err *check_image(const char *image)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:@";
	size_t length = strlen(image);
	bool good = length && length <= IMAGE_MOST && strspn(image, allowed) == length && !strchr("-._/:@", image[0]) &&
				!strchr("./:@", image[length - 1]);
	return good ? NULL : DFG_ERR(DFG_USAGE, "--kubernetes: '%.80s' is not the name of an image", image);
}

/* Lanes of a server have numbers that an Indexed Job cannot count. */
static struct dfg_err *check_devices(const struct dfg_plan_folder *plan)
{
	static const char worker[] = "/job:worker/";
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		if (strncmp(plan->device[i], worker, sizeof worker - 1))
			return DFG_ERR(DFG_DATA,
				"--kubernetes: %s is not of job 'worker', the only one whose workers a Job of Kubernetes can number: "
				"start "
				"the workers another way, with tcp= entries as dfg-hosts(5) describes",
				plan->device[i]);
	return NULL;
}

/* A name for each pod: pods of an Indexed Job are called JOB-INDEX, below the name of the service. */
static void put_service(struct dfg_text *out, uint32_t workers)
{
	dfg_text_add(out,
		"# The workers, %u, and the launcher of a plan. The secret is made once:\n"
		"#     openssl rand -hex 32 >secret && kubectl create secret generic " JOB
		" --from-file=secret\n"
		"apiVersion: v1\nkind: Service\nmetadata:\n  name: " JOB
		"\nspec:\n  clusterIP: None\n"
		"  publishNotReadyAddresses: true\n  selector:\n    app: " JOB
		"\n  ports:\n"
		"  - name: tensors\n    port: %d\n",
		workers, PORT);
}

static void put_hosts(struct dfg_text *out, uint32_t workers)
{
	dfg_text_add(out, "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " JOB "-hosts\ndata:\n  hosts: |\n");
	for (uint32_t i = 0; i < workers; i++)
		dfg_text_add(out, "    " JOB "-%u tcp=" JOB "-%u." JOB ":%d\n", i, i, PORT);
}

static void put_job_head(struct dfg_text *out, const char *suffix)
{
	dfg_text_add(out, "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: " JOB "%s\nspec:\n", suffix);
}

static void put_container(struct dfg_text *out, const char *name, const char *image)
{
	dfg_text_add(out,
		"      automountServiceAccountToken: false\n      containers:\n      - name: %s\n        image: %s\n"
		"        command: [dfg]\n        args:\n",
		name, image);
}

static void put_arguments(struct dfg_text *out, const char *const *argument)
{
	for (; *argument; argument++)
		dfg_text_add(out, "        - \"%s\"\n", *argument);
}

/* 256: 0400, in a form that all versions of YAML read alike. */
static void put_volumes(struct dfg_text *out, bool hosts)
{
	dfg_text_add(out,
		"        volumeMounts:\n        - name: secret\n          mountPath: /etc/dfg/secret\n"
		"          readOnly: true\n");
	if (hosts)
		dfg_text_add(out, "        - name: hosts\n          mountPath: /etc/dfg/hosts\n          readOnly: true\n");
	dfg_text_add(out, "      volumes:\n      - name: secret\n        secret:\n          secretName: " JOB
					  "\n          defaultMode: 256\n");
	if (hosts)
		dfg_text_add(out, "      - name: hosts\n        configMap:\n          name: " JOB "-hosts\n");
}

/* A worker that ends early is started again, under its number: with --min-replicas the run takes it in. */
static void put_workers(struct dfg_text *out, const char *image, uint32_t workers)
{
	char wait[20], port[20];
	snprintf(wait, sizeof wait, "%d", WAIT_SECONDS);
	snprintf(port, sizeof port, "%d", PORT);
	put_job_head(out, "");
	dfg_text_add(out,
		"  completionMode: Indexed\n  completions: %u\n  parallelism: %u\n  template:\n    metadata:\n"
		"      labels:\n        app: " JOB "\n    spec:\n      subdomain: " JOB "\n      restartPolicy: OnFailure\n",
		workers, workers);
	put_container(out, "worker", image);
	put_arguments(out, (const char *const[]){"serve", "--worker", "--secret-file", "/etc/dfg/secret/secret", "--number",
						   "$(JOB_COMPLETION_INDEX)", "--host", "0.0.0.0", "--port", port, "--wait", wait, NULL});
	dfg_text_add(out, "        ports:\n        - containerPort: %d\n", PORT);
	put_volumes(out, false);
}

/* replicas 0: the workers divide blocks, and the hosts say how many there are. */
static void put_launcher(struct dfg_text *out, const char *image, uint32_t replicas)
{
	char count[20], timeout[20];
	snprintf(count, sizeof count, "%u", replicas);
	snprintf(timeout, sizeof timeout, "%d", WAIT_SECONDS);
	put_job_head(out, "-launcher");
	dfg_text_add(out, "  backoffLimit: 0\n  template:\n    spec:\n      restartPolicy: Never\n");
	put_container(out, "launcher", image);
	dfg_text_add(out, "        # The plan is /plan in the image. Add --data, --fetch, --target and so on.\n");
	const char *words[] = {"run", "/plan", "--hosts", "/etc/dfg/hosts/hosts", "--secret-file", "/etc/dfg/secret/secret",
		"--timeout", timeout, NULL, NULL, NULL};
	if (replicas) {
		words[6] = "--replicas", words[7] = count;
		words[8] = "--timeout", words[9] = timeout;
	}
	put_arguments(out, words);
	put_volumes(out, true);
}

static struct dfg_err *put_kubernetes(
	const struct dfg_plan_folder *plan, const struct dfg_show_options *options, struct dfg_text *out)
{
	uint32_t replicas;
	DFG_TRY(check_devices(plan));
	DFG_TRY(count_workers(plan, options, &replicas));
	put_service(out, replicas * plan->parts.parts);
	put_hosts(out, replicas * plan->parts.parts);
	put_workers(out, options->kubernetes, replicas * plan->parts.parts);
	put_launcher(out, options->kubernetes, plan->blocks ? 0 : replicas);
	return NULL;
}

struct dfg_err *dfg_show_job_check(const struct dfg_show_options *options)
{
	bool job = options->kubernetes || options->hostfile;
	if (options->kubernetes)
		DFG_TRY(check_image(options->kubernetes));
	if (options->replicas && !job)
		return DFG_ERR(DFG_USAGE, "--replicas requires --hostfile or --kubernetes");
	if (options->hosts && !options->hostfile)
		return DFG_ERR(DFG_USAGE, "--hosts requires --hostfile");
	return job && options->several ? DFG_ERR(DFG_USAGE, "--hostfile and --kubernetes take one plan") : NULL;
}

struct dfg_err *dfg_show_job(
	const struct dfg_plan_folder *plan, const struct dfg_show_options *options, struct dfg_text *out)
{
	return options->hostfile ? put_hostfile(plan, options, out) : put_kubernetes(plan, options, out);
}
