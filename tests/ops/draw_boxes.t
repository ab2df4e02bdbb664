# By hand.
DrawBoundingBoxes(f32([[[[0], [0], [0]], [[0], [0], [0]], [[0], [0], [0]]]]), [[[0.0, 0, 1, 1]]]) = [[[[1], [1], [1]], [[1], [0], [1]], [[1], [1], [1]]]]
DrawBoundingBoxes(f32([[[[0], [0]]]]), [[[0.0, 0, 1, 1]], [[0.0, 0, 1, 1]]]) : the boxes have shape [2,1,4], expected [1,any,4]
DrawBoundingBoxes(f32([[[[0, 0]]]]), [[[0.0, 0, 1, 1]]]) : expected 1, 3 or 4 channels
DrawBoundingBoxesV2(f32([[[[0], [0], [0]]]]), [[[0.0, 0, 1, 0.5], [0.0, -3, 1, 0], [0.0, 2, 1, 3]]], [[5.0], [7]]) = [[[[7], [5], [0]]]]
DrawBoundingBoxesV2(f32([[[[0, 0, 0]]]]), [[[0.0, 0, 1, 1]]], [[5.0]]) : the colors have shape [1,1], expected at least the 3 channels
