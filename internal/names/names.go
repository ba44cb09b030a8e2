// Package names prints the values of enumerations, and names in messages.
package names

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/internal/each"
)

// Of returns entry i of the names of a type's values, or one that says that there is none.
func Of(names []string, i int, kind string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}

// Find returns the entry of a list that has a name, letter case ignored. Its error says of what kind there is none, and which
// names there are.
func Find[T any](of []T, nameOf func(T) string, kind, name string) (found T, err error) {
	i := slices.IndexFunc(of, func(t T) bool { return strings.EqualFold(nameOf(t), name) })
	if i < 0 {
		return found, fmt.Errorf("there is no %s %q among %s", kind, name, strings.Join(each.Of(of, nameOf), ", "))
	}
	return of[i], nil
}

// Count says how many there are of what a noun names: "1 row", "2 rows", "2 queries".
func Count(n int, noun string) string {
	if stem, ok := strings.CutSuffix(noun, "y"); n != 1 && ok {
		noun = stem + "ies"
	} else if n != 1 {
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}

// Clip shortens a text for a message to 64 bytes, at the boundary of a character.
func Clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	n := most - len("...")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// Quote lists names for a message, at most so many, each clipped.
func Quote(most int, names []string) string {
	q := each.Of(names[:min(most, len(names))], func(n string) string { return strconv.Quote(Clip(n)) })
	if len(names) > most {
		q = append(q, fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(q, ", ")
}
