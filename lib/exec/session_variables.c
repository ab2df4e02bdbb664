#include "lib/exec/session_private.h"

struct dfg_err *dfg_session_variables(struct dfg_session *session, const struct dfg_variable_ref *refs, uint32_t count,
	struct dfg_variable_fact *out_facts)
{
	struct dfg_session_backend *backend = session->options.backend;
	if (backend)
		return backend->variables(backend, refs, count, out_facts);
	for (uint32_t i = 0; i < count; i++) {
		const struct dfg_variable *variable = dfg_state_find(&session->state, refs[i].name);
		out_facts[i] = (struct dfg_variable_fact){0};
		if (variable)
			out_facts[i] = (struct dfg_variable_fact){variable->dtype, variable->shape, variable->set};
	}
	return NULL;
}

static struct dfg_err *find_variable(
	struct dfg_session *session, const struct dfg_variable_ref *ref, struct dfg_variable **out_variable)
{
	*out_variable = dfg_state_find(&session->state, ref->name);
	return *out_variable ? NULL : DFG_ERR(DFG_DATA, "there is no variable '%s'", ref->name);
}

struct dfg_err *dfg_session_read(
	struct dfg_session *session, const struct dfg_variable_ref *ref, struct dfg_tensor *out_tensor)
{
	struct dfg_session_backend *backend = session->options.backend;
	struct dfg_variable *variable;
	if (backend)
		return backend->read(backend, ref, out_tensor);
	DFG_TRY(find_variable(session, ref, &variable));
	return dfg_variable_read(variable, out_tensor);
}

struct dfg_err *dfg_session_assign(
	struct dfg_session *session, const struct dfg_variable_ref *ref, struct dfg_tensor *tensor)
{
	struct dfg_session_backend *backend = session->options.backend;
	struct dfg_variable *variable;
	if (backend)
		return backend->assign(backend, ref, tensor);
	struct dfg_err *err = find_variable(session, ref, &variable);
	if (!err)
		return dfg_variable_assign(variable, tensor);
	dfg_tensor_release(tensor);
	return err;
}
