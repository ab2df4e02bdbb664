# The same bits for any number of threads: ops on images, Fourier transforms and decompositions, all large enough for many blocks.
. "$ROOT/tests/cli/kit"

cat >ops.dfg <<'X'
fn numbers(n: int) { Sin(Cast(Range(0, n, 1), DstT = f32)) }
images = Reshape(numbers(2 * 60 * 60 * 5), [2, 60, 60, 5])
bicubic = ResizeBicubic(images, [97, 61])
output bicubic
output bicubic_grad = ResizeBicubicGrad(bicubic, images)
output area = ResizeArea(images, [17, 13])
moved = ScaleAndTranslate(images, [80, 80], f32([1.7, 0.6]), f32([1, 2]))
output moved
output moved_grad = ScaleAndTranslateGrad(moved, images, f32([1.7, 0.6]), f32([1, 2]))
boxes = Reshape(numbers(64), [16, 4])
which = Cast(Greater(numbers(16), 0.0), DstT = i32)
crops = CropAndResize(images, boxes, which, [20, 20])
output crops
output crops_image = CropAndResizeGradImage(crops, boxes, which, [2, 60, 60, 5], T = f32)
output crops_boxes = CropAndResizeGradBoxes(crops, images, boxes, which)
window = Reshape(numbers(45), [3, 3, 5])
dilated = Dilation2D(images, window, strides = [1, 1, 1, 1], rates = [1, 1, 1, 1], padding = "SAME")
output dilated
output by_image = Dilation2DBackpropInput(images, window, dilated, strides = [1, 1, 1, 1], rates = [1, 1, 1, 1], padding = "SAME")
output by_window = Dilation2DBackpropFilter(images, window, dilated, strides = [1, 1, 1, 1], rates = [1, 1, 1, 1], padding = "SAME")
output patches = ExtractImagePatches(images, ksizes = [1, 3, 3, 1], strides = [1, 2, 2, 1], rates = [1, 1, 1, 1], padding = "SAME")
filter = Reshape(numbers(125), [5, 5, 5, 1])
deep = DepthwiseConv2dNative(images, filter, strides = [1, 1, 1, 1], padding = "SAME")
output deep
output deep_image = DepthwiseConv2dNativeBackpropInput([2, 60, 60, 5], filter, deep, strides = [1, 1, 1, 1], padding = "SAME")
output deep_filter = DepthwiseConv2dNativeBackpropFilter(images, [5, 5, 5, 1], deep, strides = [1, 1, 1, 1], padding = "SAME")
wide = Reshape(images, [2, 20, 30, 30])
output wide_deep = DepthwiseConv2dNative(wide, Reshape(numbers(270), [3, 3, 30, 1]), strides = [1, 2, 2, 1], padding = "SAME")
output wide_filter = DepthwiseConv2dNativeBackpropFilter(wide, [7, 7, 30, 1], wide, strides = [1, 1, 1, 1], padding = "SAME")
planes = MaxPool(wide, ksize = [1, 1, 3, 3], strides = [1, 1, 2, 2], padding = "SAME", data_format = "NCHW")
output planes
output planes_grad = MaxPoolGrad(wide, planes, planes, ksize = [1, 1, 3, 3], strides = [1, 1, 2, 2], padding = "SAME", data_format = "NCHW")
largest, places = MaxPoolWithArgmax(images, ksize = [1, 3, 3, 1], strides = [1, 2, 2, 1], padding = "SAME")
output largest
output largest_grad = MaxPoolGradWithArgmax(images, largest, places, ksize = [1, 3, 3, 1], strides = [1, 2, 2, 1], padding = "SAME")
volumes = Reshape(images, [2, 15, 4, 60, 5])
most = MaxPool3D(volumes, ksize = [1, 3, 2, 3, 1], strides = [1, 1, 1, 2, 1], padding = "SAME")
output most
output most_grad = MaxPool3DGrad(volumes, most, most, ksize = [1, 3, 2, 3, 1], strides = [1, 1, 1, 2, 1], padding = "SAME")
output mean = AvgPool3D(volumes, ksize = [1, 3, 2, 3, 1], strides = [1, 1, 1, 2, 1], padding = "SAME")
output hsv = RGBToHSV(Reshape(images, [12000, 3]))
output contrast = AdjustContrastv2(Reshape(images, [40, 30, 10, 3]), f32(1.5))
lines = Reshape(images, [60, 600])
spectrum = RFFT2D(lines, [59, 599])
output real = Real(spectrum)
output back = IRFFT2D(spectrum, [59, 599])
matrices = Reshape(images, [360, 10, 10])
q, r = Qr(matrices)
output q
output r
s, u, v = Svd(matrices)
output s
output u
e, w = SelfAdjointEigV2(matrices)
output e
output w
output sums = CumulativeLogsumexp(lines, 1)
output inverse = Erfinv(lines)
X
"$DFG" build ops.dfg -o ops.pb
"$DFG" run ops.pb --threads 1 -o want.npz
for threads in 2 3 4; do
	"$DFG" run ops.pb --threads "$threads" -o got.npz
	cmp want.npz got.npz
done
for cpu in generic avx2; do
	if [ $cpu = avx2 ] && ! grep -qw avx2 /proc/cpuinfo; then continue; fi
	DFG_CPU=$cpu "$DFG" run ops.pb --threads 2 -o got.npz
	cmp want.npz got.npz
done
