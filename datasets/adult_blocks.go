package datasets

// adultFeatures is the number of features of Adult. The file a9a.t does not show it, because no row
// of a9a.t has the last feature.
const adultFeatures = 123

// adultBlocks describes the features in order. In each block one feature is 1. If the census has no
// answer, all features of the block are 0. A "band" is an interval whose bounds are not published.
var adultBlocks = [...]struct {
	name       string
	categories string
	counts     []int // number of rows with each feature, in both files
}{
	{"age",
		`17-25 26-32 33-40 41-49 50-90`,
		[]int{9627, 8744, 10260, 9537, 10674}},
	{"workclass",
		`Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked`,
		[]int{33906, 3862, 1695, 1432, 3136, 1981, 21, 10}},
	{"fnlwgt",
		`band1 band2 band3 band4 band5`,
		[]int{9862, 9778, 9671, 9738, 9793}},
	{"education",
		`Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters 1st-4th 10th
		Doctorate 5th-6th Preschool`,
		[]int{8025, 10878, 1812, 15784, 834, 1601, 2061, 756, 955, 657, 2657, 247, 1389, 594, 509, 83}},
	{"education-num",
		`1-8 9 10 11-12 13-16`,
		[]int{6408, 15784, 10878, 3662, 12110}},
	{"marital-status",
		`Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse`,
		[]int{22379, 6633, 16117, 1530, 1518, 628, 37}},
	{"occupation",
		`Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners Machine-op-inspct
		Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces`,
		[]int{1446, 6112, 4923, 5504, 6086, 6172, 2072, 3022, 5611, 1490, 2355, 242, 983, 15}},
	{"relationship",
		`Wife Own-child Husband Not-in-family Other-relative Unmarried`,
		[]int{2331, 7581, 19716, 12583, 1506, 5125}},
	{"race",
		`White Asian-Pac-Islander Amer-Indian-Eskimo Other Black`,
		[]int{41762, 1519, 470, 406, 4685}},
	{"sex",
		`Female Male`,
		[]int{16192, 32650}},
	{"capital-gain",
		`none some`,
		[]int{44807, 4035}},
	{"capital-loss",
		`none some`,
		[]int{46560, 2282}},
	{"hours-per-week",
		`band1 band2 band3 band4 band5`,
		[]int{8395, 3292, 22803, 3862, 10490}},
	{"native-country",
		`United-States Cambodia England Puerto-Rico Canada Germany Outlying-US India Japan Greece South China Cuba Iran
		Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland France Dominican-Republic Laos
		Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia El-Salvador
		Trinadad&Tobago Peru Hong Holand-Netherlands`,
		[]int{43832, 28, 127, 184, 182, 206, 23, 151, 92, 49, 115, 122, 138, 59, 20, 295, 105, 87, 106, 86, 951, 67,
			37, 38, 103, 23, 45, 65, 75, 85, 19, 88, 49, 21, 30, 23, 155, 27, 46, 30, 1}},
}
