package qmc

// MaxDim is the number of coordinates for which direction numbers are held.
const MaxDim = 64

// directions[j−1] describes coordinate j ≥ 1 (coordinate 0 is the van der Corput sequence): a primitive polynomial over
// GF(2), bit i the coefficient of x^i, and after it the initial odd integers m_1, m_2, …, as many as its degree.
//
// The polynomials are all those there are, by degree and value. The integers were found for this package by the search in
// search_test.go: coordinate by coordinate they keep property A, in all 64 coordinates, and make pairs with the coordinates
// before well distributed, by the least sum of 4^t over these pairs and over m = 1, …, 12, where t is the quality parameter
// of the first 2^m points in the pair. To repeat the search, which takes some minutes and compares with the table:
//
//	go test ./internal/qmc -run TestSearch -search
var directions = [MaxDim - 1][]uint16{
	{3, 1},
	{7, 1, 1},
	{11, 1, 1, 1},
	{13, 1, 3, 1},
	{19, 1, 3, 7, 3},
	{25, 1, 3, 5, 5},
	{37, 1, 1, 1, 15, 23},
	{41, 1, 1, 3, 1, 23},
	{47, 1, 1, 7, 5, 9},
	{55, 1, 1, 3, 7, 13},
	{59, 1, 3, 1, 13, 19},
	{61, 1, 1, 7, 3, 29},
	{67, 1, 3, 1, 5, 29, 15},
	{91, 1, 3, 1, 11, 9, 49},
	{97, 1, 1, 3, 7, 31, 33},
	{103, 1, 1, 7, 1, 1, 45},
	{109, 1, 1, 1, 9, 17, 19},
	{115, 1, 3, 1, 3, 3, 15},
	{131, 1, 3, 5, 15, 15, 21, 85},
	{137, 1, 3, 7, 5, 17, 1, 49},
	{143, 1, 1, 7, 9, 25, 63, 29},
	{145, 1, 1, 7, 15, 11, 7, 41},
	{157, 1, 1, 5, 13, 17, 19, 121},
	{167, 1, 1, 3, 13, 3, 35, 43},
	{171, 1, 1, 7, 3, 27, 9, 95},
	{185, 1, 3, 1, 3, 13, 53, 21},
	{191, 1, 3, 1, 11, 29, 9, 101},
	{193, 1, 3, 7, 13, 9, 25, 43},
	{203, 1, 1, 5, 15, 27, 43, 71},
	{211, 1, 1, 3, 5, 3, 37, 11},
	{213, 1, 1, 1, 7, 9, 19, 119},
	{229, 1, 1, 1, 11, 31, 55, 11},
	{239, 1, 1, 5, 3, 1, 11, 31},
	{241, 1, 3, 7, 11, 17, 31, 63},
	{247, 1, 1, 5, 11, 17, 19, 5},
	{253, 1, 3, 3, 5, 19, 51, 13},
	{285, 1, 1, 1, 9, 3, 25, 111, 123},
	{299, 1, 1, 5, 1, 23, 63, 113, 51},
	{301, 1, 1, 5, 7, 11, 39, 29, 23},
	{333, 1, 1, 5, 15, 11, 35, 37, 189},
	{351, 1, 1, 3, 11, 13, 7, 27, 189},
	{355, 1, 1, 3, 1, 29, 31, 83, 115},
	{357, 1, 3, 5, 7, 3, 61, 61, 179},
	{361, 1, 3, 1, 15, 13, 29, 3, 123},
	{369, 1, 3, 5, 13, 23, 1, 111, 157},
	{391, 1, 3, 5, 7, 17, 29, 103, 27},
	{397, 1, 3, 3, 1, 3, 5, 17, 113},
	{425, 1, 3, 5, 7, 1, 27, 5, 27},
	{451, 1, 1, 3, 9, 21, 21, 79, 243},
	{463, 1, 1, 7, 1, 7, 59, 93, 143},
	{487, 1, 3, 1, 3, 31, 33, 85, 47},
	{501, 1, 3, 3, 15, 15, 47, 49, 167},
	{529, 1, 3, 7, 5, 21, 35, 73, 63, 325},
	{539, 1, 3, 5, 3, 1, 5, 61, 229, 187},
	{545, 1, 3, 5, 7, 7, 49, 33, 69, 21},
	{557, 1, 3, 7, 9, 15, 51, 121, 97, 117},
	{563, 1, 3, 1, 1, 29, 15, 103, 97, 59},
	{601, 1, 3, 3, 13, 21, 61, 101, 195, 277},
	{607, 1, 1, 3, 9, 15, 33, 121, 9, 251},
	{617, 1, 3, 5, 15, 5, 57, 83, 241, 421},
	{623, 1, 3, 3, 9, 29, 19, 39, 87, 181},
	{631, 1, 1, 1, 5, 27, 51, 77, 13, 313},
	{637, 1, 1, 3, 1, 17, 47, 1, 195, 397},
}
