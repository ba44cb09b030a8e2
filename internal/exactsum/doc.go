// Package exactsum adds lists of numbers such that the order of the additions does not matter to
// the last bit. Every number is rounded once, to a whole multiple of 2⁻⁵², and sums are integers of
// 128 bits, so that addition is associative and commutative: any order of the terms, any division
// among partial sums and any tree by which these are merged gives the same sum, and the same bytes.
//
// No sum can overflow: the size of a term and the number of terms are bounded, and a
// term beyond the bound is refused by itself, whatever came before it.
package exactsum
