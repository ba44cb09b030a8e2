// Package repository says where the repository is that the tools of this module work on.
package repository

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Root returns the folder of the root module, above the one in which the go command runs.
func Root() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/gocmbo/cmbo").Output()
	if err != nil {
		return "", fmt.Errorf("go list -m github.com/gocmbo/cmbo: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Enter makes [Root] the working folder, from which files named by flags count.
func Enter() error {
	root, err := Root()
	if err != nil {
		return err
	}
	return os.Chdir(root)
}
