# exp(ln n) = n.
SoftmaxCrossEntropyWithLogits([[0, 0]], [[0.25, 0.75]])     = [0.6931471805599453], [[0.25, -0.25]]
SoftmaxCrossEntropyWithLogits([[0, 0], [0, 0]], [[1, 0]])   = [0.6931471805599453, 0.6931471805599453], [[-0.5, 0.5], [-0.5, 0.5]]
SoftmaxCrossEntropyWithLogits([[0, 0]], [[0, 0, 1]])        : cannot broadcast
SoftmaxCrossEntropyWithLogits([0, 0], [0, 1])               : logits have shape [2] and labels [2], expected matrices
SparseSoftmaxCrossEntropyWithLogits([[0, 0], [0, 0]], i32([0, 1])) = [0.6931471805599453, 0.6931471805599453], [[-0.5, 0.5], [0.5, -0.5]]
SparseSoftmaxCrossEntropyWithLogits([[0, 0]], i32([2]))     : label 2 of row 0 is not in [0, 2)
SparseSoftmaxCrossEntropyWithLogits([[0, 0]], i32([-1]))    : label -1 of row 0
SparseSoftmaxCrossEntropyWithLogits([[0, 0]], i32([0, 1]))  : do not fit labels of [2]
SparseSoftmaxCrossEntropyWithLogits(f32([[0, 0, 0, 0]]), [3]) = [1.3862943611198906], [[0.25, 0.25, 0.25, -0.75]]
SparseSoftmaxCrossEntropyWithLogits([[]], i32([0]))         : logits of [1,0] have no classes
