# Boxes y1, x1, y2, x2 on a line: [0, 4], [1, 5] and [0, 4] overlap by 3/5; [8, 9] overlaps none.
NonMaxSuppression(f32([[0, 0, 1, 4], [0, 1, 1, 5], [0, 8, 1, 9]]), f32([0.5, 0.9, 0.7]), 3)         = [1, 2]
NonMaxSuppression(f32([[1, 4, 0, 0], [0, 1, 1, 5], [0, 8, 1, 9]]), f32([0.5, 0.9, 0.7]), 3, iou_threshold = 0.75) = [1, 2, 0]
NonMaxSuppression(f32([[0, 0, 1, 1], [0, 0, 1, 1]]), f32([0.5]), 3)        : boxes and scores have shape [2,4] and [1], expected [n,4] and [n]
NonMaxSuppression(f32([[0, 0, 1, 1]]), f32([0.5]), -1)                     : 'max_output_size' is -1, expected 0 or more
NonMaxSuppression(f32([[0, 0, 1, 1]]), f32([0.5]), 1, iou_threshold = 1.5) : 'iou_threshold' is 1.5, expected 0 to 1
NonMaxSuppressionV2(f32([[0, 0, 1, 4], [0, 1, 1, 5], [0, 8, 1, 9]]), f32([0.5, 0.9, nan]), 3, f32(0.5)) = [1]
NonMaxSuppressionV2(f16([[0, 0, 1, 4], [0, 1, 1, 5], [0, 8, 1, 9]]), f16([0.5, 0.5, 0.5]), 2, f32(1)) = [0, 1]
NonMaxSuppressionV2(f32([[0, 0, 1, 4]]), f32([0.5]), 3, f32([0.5]))        : input 3 has shape [1], expected a scalar
NonMaxSuppressionV3(f32([[0, 0, 1, 4], [0, 1, 1, 5], [0, 8, 1, 9]]), f32([0.5, 0.9, 0.7]), 3, f32(0.5), f32(0.7)) = [1]
NonMaxSuppressionV3(f32([[0, 0, 0, 4], [0, 0, 0, 4]]), f32([1, 2]), 3, f32(0), f32(0)) = [1, 0]
NonMaxSuppressionV4(f32([[0, 0, 1, 4], [0, 1, 1, 5]]), f32([0.5, 0.9]), 3, f32(0.5), f32(0), pad_to_max_output_size = true) = [1, 0, 0], 1
NonMaxSuppressionV4(f32([[0, 0, 1, 4], [0, 1, 1, 5]]), f32([0.5, 0.9]), 3, f32(0.5), f32(0))           = [1], 1
NonMaxSuppressionV5(f32([[0, 0, 1, 4], [0, 1, 1, 5]]), f32([0.5, 1]), 2, f32(0.5), f32(0), f32(0.5)) = [1, 0], [1, 0.34883818], 2
NonMaxSuppressionV5(f32([[0, 0, 1, 4], [0, 1, 1, 5]]), f32([0.5, 1]), 2, f32(0.5), f32(0.4), f32(0.5), pad_to_max_output_size = true) = [1, 0], [1, 0], 1
NonMaxSuppressionV5(f32([[0, 0, 1, 4]]), f32([0.5]), 2, f32(0.5), f32(0), f32(-1)) : 'soft_nms_sigma' is -1, expected 0 or more
NonMaxSuppressionWithOverlaps(f32([[1, 0.6, 0], [0.6, 1, 0], [0, 0, 1]]), f32([0.5, 0.9, 0.7]), 3, f32(0.5), f32(0)) = [1, 2]
NonMaxSuppressionWithOverlaps(f32([[1, 0.6, 0], [0.6, 1, 0]]), f32([0.5, 0.9]), 3, f32(0.5), f32(0))   : expected [n,n] and [n]
CombinedNonMaxSuppression(f32([[[[0, 0, 1, 0.4]], [[0, 0.1, 1, 0.5]], [[0, 0.8, 1, 1.9]]]]), f32([[[0.5, 0.1], [0.9, 0.2], [0.7, 0.6]]]), 3, 3, f32(0.5), f32(0.15)) = [[[0, 0.1, 1, 0.5], [0, 0.8, 1, 1], [0, 0.8, 1, 1]]], [[0.9, 0.7, 0.6]], [[0, 0, 1]], [3]
CombinedNonMaxSuppression(f32([[[[0, 0, 1, 0.4]]]]), f32([[[0.5]]]), 2, 5, f32(0.5), f32(0.15), pad_per_class = true, clip_boxes = false) = [[[0, 0, 1, 0.4], [0, 0, 0, 0]]], [[0.5, 0]], [[0, 0]], [1]
CombinedNonMaxSuppression(f32([[[[0, 0, 1, 0.4]]]]), f32([[[0.5]]]), 0, 5, f32(0.5), f32(0.15))        : 'max_output_size_per_class' is 0, expected 1 or more
CombinedNonMaxSuppression(f32([[[[0, 0, 1, 0.4]]]]), f32([[[0.5]]]), 1, 0, f32(0.5), f32(0.15))        : 'max_total_size' is 0, expected 1 or more
CombinedNonMaxSuppression(f32([[[[0, 0, 1, 1], [0, 0, 1, 1]]]]), f32([[[0.5, 0.5, 0.5]]]), 1, 1, f32(0.5), f32(0)) : one for each of the 3 classes
