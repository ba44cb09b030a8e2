// Package names prints the values of enumerations.
package names

import "fmt"

// Of returns entry i of the names of a type's values, or one that says that there is
// none.
func Of(names []string, i int, kind string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}
