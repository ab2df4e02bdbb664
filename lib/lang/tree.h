#pragma once

#include "lib/base/arena.h"
#include "lib/lang/lex.h"

/*
 * The syntax tree of a program. Each kind has its kids in its comment: [..] is one that may be NULL, x... any number of
 * them. `text` is the name or string of the node.
 */
enum dfg_tree_kind {
	/* statements */
	DFG_TREE_BLOCK,  /* statement... */
	DFG_TREE_ASSIGN, /* TUPLE of NAME, TUPLE */
	DFG_TREE_DO,     /* TUPLE: an expression statement, or a block's value */
	DFG_TREE_INPUT,  /* text: TYPE [= expr] */
	DFG_TREE_PARAM,  /* text: TYPE = expr */
	DFG_TREE_STATE,  /* text: TYPE = expr */
	DFG_TREE_OUTPUT, /* text [= expr] */
	DFG_TREE_CONST,  /* text = expr */
	DFG_TREE_TARGET, /* text BLOCK */
	DFG_TREE_FN,     /* text, FORMALS, NULL, [TYPES], BLOCK */
	DFG_TREE_LAYER,  /* text, FORMALS, FORMALS, [TYPES], BLOCK */
	DFG_TREE_IMPORT, /* text, [NAME] */
	DFG_TREE_SET, /* text [TUPLE of rows] =, +=, ... expr [by expr]: expr, [TUPLE], [expr]; .operation: enum dfg_update */
	DFG_TREE_ASSERT,     /* expr, STRING */
	DFG_TREE_ON,         /* text BLOCK */
	DFG_TREE_AFTER,      /* TUPLE, BLOCK */
	DFG_TREE_STATIC_FOR, /* text, SEQUENCE, BLOCK */
	DFG_TREE_STATIC_IF,  /* expr, BLOCK, [BLOCK] */
	DFG_TREE_YIELD,      /* expr */
	DFG_TREE_NEXT,       /* TUPLE */
	/* parts of statements */
	DFG_TREE_FORMALS,  /* FORMAL... */
	DFG_TREE_FORMAL,   /* text [: TYPE] [= expr] */
	DFG_TREE_TYPES,    /* TYPE... */
	DFG_TREE_TYPE,     /* text [DIMS] */
	DFG_TREE_LIKE,     /* text */
	DFG_TREE_DIMS,     /* expr, ANY or REST... */
	DFG_TREE_ANY,      /* ? */
	DFG_TREE_REST,     /* ... */
	DFG_TREE_SEQUENCE, /* expr [..] [expr]; .range: it has dots */
	/* expressions */
	DFG_TREE_TUPLE, /* expr... */
	DFG_TREE_NUMBER,
	DFG_TREE_STRING,
	DFG_TREE_BOOL,
	DFG_TREE_NAME,
	DFG_TREE_LIST,     /* expr... */
	DFG_TREE_CALL,     /* callee, ARGUMENT... */
	DFG_TREE_ARGUMENT, /* [text =] expr */
	DFG_TREE_INDEX,    /* expr, index...: expr, REST, NEW or SLICE */
	DFG_TREE_NEW,
	DFG_TREE_SLICE,  /* [expr] : [expr] : [expr] */
	DFG_TREE_MEMBER, /* expr . text */
	DFG_TREE_UNARY,  /* expr */
	DFG_TREE_BINARY, /* expr, expr */
	DFG_TREE_IF,     /* expr, BLOCK, BLOCK or expr */
	DFG_TREE_CASE,   /* expr, BLOCK..., the last is else */
	/*
	 * [ARGUMENTs in a TUPLE], [TUPLE of sequences], [while], [with], BLOCK; .truth: it is a `parallel for`. The TUPLE of
	 * sequences has .truth if the loop runs over their product, the last one fastest.
	 */
	DFG_TREE_LOOP,
};

/* Operators: X(NAME, spelling, precedence, TensorFlow's op). Higher binds tighter; the unary have none. */
#define DFG_EACH_operator(X)          \
	X(OR, "or", 1, "LogicalOr")       \
	X(AND, "and", 2, "LogicalAnd")    \
	X(EQUAL, "==", 3, "Equal")        \
	X(UNEQUAL, "!=", 3, "NotEqual")   \
	X(LESS, "<", 3, "Less")           \
	X(UP_TO, "<=", 3, "LessEqual")    \
	X(MORE, ">", 3, "Greater")        \
	X(FROM, ">=", 3, "GreaterEqual")  \
	X(ADD, "+", 4, "AddV2")           \
	X(SUB, "-", 4, "Sub")             \
	X(MUL, "*", 5, "Mul")             \
	X(DIV, "/", 5, "RealDiv")         \
	X(FLOOR_DIV, "//", 5, "FloorDiv") \
	X(MOD, "%", 5, "FloorMod")        \
	X(PRODUCT, "@", 5, "MatMul")      \
	X(POW, "**", 0, "Pow")            \
	X(NOT, "not", 0, "LogicalNot")    \
	X(NEGATE, "-", 0, "Neg")

enum dfg_operator {
#define ENUM(NAME, ...) DFG_OPERATOR_##NAME,
	DFG_EACH_operator(ENUM)
#undef ENUM
		DFG_OPERATORS, /* the number of operators */
};

/*
 * Updates of a variable by `set`: X(NAME, spelling, op of all elements, of rows, of slices). Maximum and Minimum are not
 * ops of a variable: it is assigned their result.
 */
#define DFG_EACH_update(X)                                                                 \
	X(ASSIGN, "=", "AssignVariableOp", "ResourceScatterUpdate", "ResourceScatterNdUpdate") \
	X(INCREASE, "+=", "AssignAddVariableOp", "ResourceScatterAdd", "ResourceScatterNdAdd") \
	X(DECREASE, "-=", "AssignSubVariableOp", "ResourceScatterSub", "ResourceScatterNdSub") \
	X(RAISE, "max=", "Maximum", "ResourceScatterMax", "ResourceScatterNdMax")              \
	X(LOWER, "min=", "Minimum", "ResourceScatterMin", "ResourceScatterNdMin")

enum dfg_update {
#define ENUM(NAME, ...) DFG_UPDATE_##NAME,
	DFG_EACH_update(ENUM)
#undef ENUM
		DFG_UPDATES, /* the number of updates */
};

struct dfg_update_row {
	const char *spelling, *whole, *rows, *slices;
};
extern const struct dfg_update_row dfg_updates[];

struct dfg_operator_row {
	const char *spelling;
	int precedence;
	const char *op;
};
extern const struct dfg_operator_row dfg_operators[];

/* A number without a dtype. .f is its value; of an integer .i is the exact value. */
struct dfg_number {
	bool is_int;
	int64_t i; /* modulo 2^64 */
	double f;
};

struct dfg_tree {
	uint8_t kind;      /* enum dfg_tree_kind */
	uint8_t operation; /* enum dfg_operator */
	bool truth, range;
	uint32_t at; /* in the source */
	uint32_t n;  /* kids; a NUMBER or STRING has none */
	union {
		struct dfg_number number; /* of a NUMBER */
		struct {
			const char *text;
			union {
				size_t length; /* of a STRING's bytes */
				struct dfg_tree **kid;
			};
		};
	};
};

/* Parses a whole text into a BLOCK. The tree lives in the arena and borrows nothing from the source. */
DFG_MUST_CHECK struct dfg_err *dfg_parse(
	const struct dfg_source *source, struct dfg_arena *arena, struct dfg_tree **out_block);

/* One line `exprs = exprs` or `exprs : words`, of op cases; out_want is NULL and *out_error set, or the other way. */
DFG_MUST_CHECK struct dfg_err *dfg_parse_case(const struct dfg_source *source, struct dfg_arena *arena,
	struct dfg_tree **out_call, struct dfg_tree **out_want, const char **out_error);

/* Parses a text that is one expression. */
DFG_MUST_CHECK struct dfg_err *dfg_parse_expression(
	const struct dfg_source *source, struct dfg_arena *arena, struct dfg_tree **out_expression);
