// Any element-wise expression, in float64: a program in postfix order for a stack machine. The
// operations are those of plan.Op.
#include "common.cuh"

// A program holds the numbers of instructions and operands, then the operands, then the
// instructions.
struct Operand {
  const real *at;
  int64 row, column; // distances between rows and columns; 0 repeats the operand
};

struct Instruction {
  int64 code; // the operation, plus 64 if the operands are swapped, plus 256 times the operand's index
  double value;
};

enum {
  ABS, SIGN, CEIL, FLOOR, SIN, COS, EXP, LN, LOG2, NEG, SQUARE, SQRT, INVERSE, INVERSE_SQRT, CUBE, TANH, SIGMOID, LOG1P, EXPM1,
  SOFTPLUS, IDENTITY, RELU, SIGMOID_GRAD, TANH_GRAD, RELU_GRAD, ADD, SUB, MUL, DIV, POW, LT, GT, LTE, GTE, EQ, NE, LOAD, VALUE
};

__device__ inline double unary(int op, double x) {
  switch (op) {
  case ABS: return fabs(x);
  case SIGN: return copysign(1.0, x);
  case CEIL: return ceil(x);
  case FLOOR: return floor(x);
  case SIN: return sin(x);
  case COS: return cos(x);
  case EXP: return exp(x);
  case LN: return log(x);
  case LOG2: return log2(x);
  case NEG: return -x;
  case SQUARE: return x * x;
  case SQRT: return sqrt(x);
  case INVERSE: return 1 / x;
  case INVERSE_SQRT: return 1 / sqrt(x);
  case CUBE: return x * x * x;
  case TANH: return tanh(x);
  case SIGMOID: {
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
  }
  case LOG1P: return log1p(x);
  case EXPM1: return expm1(x);
  case SOFTPLUS: return (x < 0 ? 0 : x) + log1p(exp(-fabs(x)));
  case RELU: return x < 0 ? -0.0 : x + 0.0;
  case SIGMOID_GRAD: return x * (1 - x);
  case TANH_GRAD: return 1 - x * x;
  case RELU_GRAD: return signbit(x) ? 0 : 1;
  }
  return x;
}

__device__ inline double binary(int op, double x, double y) {
  switch (op) {
  case ADD: return x + y;
  case SUB: return x - y;
  case MUL: return x * y;
  case DIV: return x / y;
  case POW: return pow(x, y);
  case LT: return x < y;
  case GT: return x > y;
  case LTE: return x <= y;
  case GTE: return x >= y;
  case EQ: return x == y;
  }
  return x != y;
}

// The deeper operand comes first, so the stack suffices for every tree of less than 2^16 operands.
const int stack_size = 16;

KERNEL(interpret)(const char *program, real *out, int64 os, int64 rows, int64 cols) {
  const int64 *head = (const int64 *)program;
  int64 length = head[0];
  const Operand *operands = (const Operand *)(program + 16);
  const Instruction *code = (const Instruction *)(operands + head[1]);
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x)
    for (int64 i = (int64)blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += (int64)gridDim.y * blockDim.y) {
      double stack[stack_size];
      int top = 0;
      for (int64 k = 0; k < length; k++) {
        int op = code[k].code & 63;
        if (op == LOAD) {
          const Operand &x = operands[code[k].code >> 8];
          stack[top++] = x.at[i * x.row + j * x.column];
        } else if (op == VALUE) {
          stack[top++] = code[k].value;
        } else if (op >= ADD) {
          double y = stack[--top], x = stack[top - 1];
          stack[top - 1] = code[k].code & 64 ? binary(op, y, x) : binary(op, x, y);
        } else {
          stack[top - 1] = unary(op, stack[top - 1]);
        }
      }
      out[i * os + j] = (real)stack[0];
    }
}
EXPORT(interpret)
