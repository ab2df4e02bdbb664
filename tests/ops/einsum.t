# Sums of products by hand.
Einsum([[[1, 2], [3, 4]], [[5], [6]]], equation = "ij,jk->ik")  = [[17], [39]]
Einsum([[1, 2], [3, 4]], equation = "ij,j->i")                  : 'ij' does not have as many labels as [2] has dimensions
Einsum([[[1, 2], [3, 4]]], equation = "ij->ji")                 = [[1, 3], [2, 4]]
Einsum([[[1, 2], [3, 4]]], equation = "ii->")                   = 5
Einsum([[1, 2]], equation = "i->ii")                            = [[1, 0], [0, 2]]
Einsum([[1, 2], [3, 4]], equation = "i,j->ij")                  = [[3, 4], [6, 8]]
Einsum([[1, 2], [3, 4]], equation = "i,j->")                    = 21
Einsum([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], equation = "...a,...a->...") = [17, 53]
Einsum([[1, 2]], equation = "i->j")                             : a label that no input has
Einsum([[1, 2]], equation = "i")                                : equation 'i' is not for 1 inputs
Einsum([[1, 2]], equation = "i?->i")                            : syntax error in equation 'i?->i' at '?->i'
Einsum([[[1, 2]], [[3, 4]]], equation = "ij,jk->ik")            : label j has dimensions 2 and 1
Einsum([[[1, 2], [3, 4]]], equation = "ij->i")              = [3, 7]
Einsum([[[1, 2], [3, 4]]], equation = "ii->i")              = [1, 4]
Einsum([2, 3], equation = ",->")                            = 6
Einsum([[], []], equation = "i,i->")                        = 0
Einsum([f32([inf, 1]), f32([0, 1])], equation = "i,i->")    = nan
Einsum([[[[1, 2]], [[3, 4]]], [[[5], [6]]]], equation = "...ij,...jk->...ik") = [[[17]], [[39]]]
