# With weights of 0 both gates are 1/2, and the new state is the mean of the old one and of tanh(b_c).
GRUBlockCell([[3]], [[1]], zeros([2, 2], f32), zeros([2, 1], f32), [0, 0], [1]) = [[0.5]], [[0.5]], [[0.7615941559557649]], [[0.8807970779778824]]
GRUBlockCell([[3]], [[2]], zeros([2, 2], f32), [[0], [1]], [0, 0], [0]) = [[0.5]], [[0.5]], [[0.7615941559557649]], [[1.3807970779778824]]
GRUBlockCell([[3]], [[1]], zeros([2, 3], f32), zeros([2, 1], f32), [0, 0], [1]) : w_ru has shape [2,3], expected [2,2]
GRUBlockCellGrad([[3]], [[1]], zeros([2, 2], f32), zeros([2, 1], f32), [0, 0], [1], [[0.5]], [[0.5]], [[0]], [[4]]) = [[0]], [[2]], [[2]], [[0, 1]]
