import operator, sys, time
from deap import gp

def div(a, b):
    return 1.0 if b == 0 else a / b

primitives = gp.PrimitiveSet("MAIN", 1)
primitives.addPrimitive(operator.add, 2, name="add")
primitives.addPrimitive(operator.sub, 2, name="sub")
primitives.addPrimitive(operator.mul, 2, name="mul")
primitives.addPrimitive(div, 2, name="div")
primitives.renameArguments(ARG0="x")
trees = [gp.PrimitiveTree.from_string(line, primitives) for line in sys.stdin]
points = [-1.0 + at / 10.0 for at in range(20)]
begun = time.perf_counter()
total = 0.0
for tree in trees:
    f = gp.compile(tree, primitives)
    total += sum(abs(f(x) - x * x) for x in points)
print(len(trees) / (time.perf_counter() - begun))
