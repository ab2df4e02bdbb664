#include "kernels/apply.h"

#include "kernels/elementwise_rows.h"

#define sqrt(x) OF_FLOAT(sqrt, x)(x)
#define exp(x) OF_FLOAT(exp, x)(x)
#define fabs(x) OF_FLOAT(abs, x)(x)
#define sign(x) ((x) > 0 ? (element)1 : (x) < 0 ? (element)-1 : (x))

/* Soft threshold: x nearer to 0 by d, but not past it; x itself if d is not positive. */
#define shrink(x, d) shrunk((x), (d), (element)0)
#define shrunk(x, d, zero) ((d) > zero ? sign(x) * (fabs(x) - (d) > zero ? fabs(x) - (d) : zero) : (x))

/* x ^ -lr_power; the usual power is a square root. */
#define raised(x) (lr_power == (element)-0.5 ? sqrt(x) : OF_FLOAT(power, x)((x), -lr_power))

/* With attribute multiply_linear_by_lr, slot linear is stored multiplied by lr. */
#define FTRL_STEP(slope)                                               \
	const element by = attr[1].b ? lr : (element)1;                    \
	const element rate = attr[1].b ? (element)1 : lr;                  \
	linear += (slope)*by - (raised(sum) - raised(accum)) / rate * var; \
	const element over = sign(linear) * (l1 * by) - linear;            \
	const element under = raised(sum) / rate + 2 * l2 * by;            \
	var = fabs(linear) > l1 * by ? over / under : (element)0;          \
	accum = sum

/* Expansions of a rule's list of inputs. */
#define NOTHING(name)
#define COUNT_SLOT(name) SLOT_##name,
#define COUNT_SCALAR(name) SCALAR_##name,
#define SLOT_ARRAY(name) element *const name##s = slot[SLOT_##name];
#define SCALAR(name)                                     \
	const element name = (element)scalar[SCALAR_##name]; \
	(void)name;
#define GRAD_ARRAY(name) const element *const name##s = gradient;
#define LOAD(name) element name = name##s[i];
#define STORE(name) name##s[i] = name;

#define RULE_OF(type, suffix, Op, ...)                                                                           \
	DFG_CLONED(void, Op##_##suffix,                                                                              \
		(int64_t n, void *const *slot, const void *gradient, const double *scalar, const union dfg_value *attr), \
		(n, slot, gradient, scalar, attr))                                                                       \
	{                                                                                                            \
		typedef type element;                                                                                    \
		enum { SLOT_var, INPUTS_##Op(COUNT_SLOT, NOTHING, NOTHING) };                                            \
		enum { INPUTS_##Op(NOTHING, COUNT_SCALAR, NOTHING) SCALARS };                                            \
		SLOT_ARRAY(var)                                                                                          \
		INPUTS_##Op(SLOT_ARRAY, SCALAR, GRAD_ARRAY)(void) attr;                                                  \
		DFG_INDEPENDENT                                                                                          \
		for (int64_t i = 0; i < n; i++) {                                                                        \
			LOAD(var)                                                                                            \
			INPUTS_##Op(LOAD, NOTHING, LOAD) __VA_ARGS__;                                                        \
			STORE(var)                                                                                           \
			INPUTS_##Op(STORE, NOTHING, NOTHING)                                                                 \
		}                                                                                                        \
	}

#define ONE_MORE(name) +1
#define RULE(Op, text, ...)                                                                                  \
	RULE_OF(float, f32, Op, __VA_ARGS__)                                                                     \
	RULE_OF(double, f64, Op, __VA_ARGS__)                                                                    \
	static struct dfg_err *Op##_run(struct dfg_kernel *ctx)                                                  \
	{                                                                                                        \
		static const struct dfg_rule rule = {1 INPUTS_##Op(ONE_MORE, NOTHING, NOTHING), Op##_f32, Op##_f64}; \
		return dfg_rule_apply(ctx, &rule);                                                                   \
	}                                                                                                        \
	static const char Op##_doc[] = "a step of " text;

/* The inputs as ports of a signature. The indices follow a sparse gradient. */
#define REF_PORT(name) ", " #name ": ref T"
#define HANDLE_PORT(name) ", " #name ": resource"
#define PORT(name) ", " #name ": " PORT_TYPE(INTEGER_##name, "T", )
#define PORT_TYPE(...) SECOND(__VA_ARGS__)
#define SECOND(first, second, ...) second
#define INTEGER_global_step 1, "i64" /* the scalars that are integers; others have the type of the variable */
#define ROWS_PORT(name) ", grad: T, indices: Tindices"

/* Attributes. A rule reads the second as attr[1]. */
#define ATTR_locking "use_locking: bool = false"
#define ATTR_nesterov ATTR_locking, "use_nesterov: bool = false"
#define ATTR_slots ATTR_locking, "update_slots: bool = true"
#define ATTR_linear ATTR_locking, "multiply_linear_by_lr: bool = false"

#define FORM(prefix, Op, ...) NAMED(#prefix #Op, prefix##Op, Op, __VA_ARGS__)
#define NAMED(op, symbol, Op, attributes, slots, grad, types, var, result)                         \
	const struct dfg_op dfg_op_##symbol = {                                                        \
		.name = op,                                                                                \
		.doc = Op##_doc,                                                                           \
		.sig = "<T: float" types ">(var: " var INPUTS_##Op(slots, PORT, grad) ") -> (" result ")", \
		.attr = {ATTR_##attributes},                                                               \
		.flags = DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT,                       \
		.shape = dfg_rule_shape,                                                                   \
		.run = Op##_run,                                                                           \
	};
#define INDEXED ", Tindices: index"
#define REF_DENSE(Op, attributes) FORM(Apply, Op, attributes, REF_PORT, PORT, "", "ref T", "out: ref T")
#define REF_SPARSE(Op, attributes) \
	FORM(SparseApply, Op, attributes, REF_PORT, ROWS_PORT, INDEXED, "ref T", "out: ref T")
#define RESOURCE_DENSE(Op, attributes) FORM(ResourceApply, Op, attributes, HANDLE_PORT, PORT, "", "resource", "")
#define OWN_RESOURCE_DENSE(Op, attributes) \
	NAMED("Dfg>ResourceApply" #Op, Dfg_ResourceApply##Op, Op, attributes, HANDLE_PORT, PORT, "", "resource", "")
#define RESOURCE_SPARSE(Op, attributes) \
	FORM(ResourceSparseApply, Op, attributes, HANDLE_PORT, ROWS_PORT, INDEXED, "resource", "")
#define DENSE(Op, attributes) REF_DENSE(Op, attributes) RESOURCE_DENSE(Op, attributes)
#define EVERY(Op, attributes) DENSE(Op, attributes) REF_SPARSE(Op, attributes) RESOURCE_SPARSE(Op, attributes)

#include "kernels/apply.def"
