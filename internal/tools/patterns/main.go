// Command patterns fails where a "go test" in a document, a comment or the gate has a
// -run, -bench or -fuzz pattern, or one alternative of it, that names nothing: go test
// itself would pass.
//
//	go -C internal/tools run ./patterns
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/internal/tools/repository"
)

var (
	// A command ends with its line or, in backquotes, with these: there it may begin with assignments.
	command = regexp.MustCompile("`((?:[A-Z]\\w*=[^\\s`]+[\\s/]+)*go[\\s/]+test\\s[^`]*)`|\\b(go[\\s/]+test [^`\n]*)")
	lines   = regexp.MustCompile(`\s+(//)?\s*`)
	test    = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)\(`)
)

func main() {
	if err := repository.Enter(); err != nil {
		fail(err)
	}
	names, err := output("git", "ls-files", "*.md", "*.go", ".ci/*", ":!internal/tools/patterns")
	if err != nil {
		fail(err)
	}
	bad, checked := 0, 0
	for _, name := range strings.Fields(names) {
		text, err := os.ReadFile(name)
		if err != nil {
			fail(err)
		}
		b, n, err := check(name, string(text), tests)
		if err != nil {
			fail(err)
		}
		checked += n
		for _, line := range b {
			fmt.Println(line)
		}
		bad += len(b)
	}
	fmt.Println(checked, "patterns")
	if bad > 0 || checked == 0 {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "patterns:", err)
	os.Exit(1)
}

// check returns what is wrong with the commands of a file and how many patterns they
// hold; tests names the tests of packages.
func check(file, text string, tests func(packages string) ([]string, error)) (wrong []string, checked int, err error) {
	for _, found := range command.FindAllStringSubmatch(text, -1) {
		// A table of Markdown writes the bar of a pattern as \|.
		line := strings.NewReplacer(`\|`, "|", "'", "", `"`, "").Replace(lines.ReplaceAllString(found[1]+found[2], " "))
		words := strings.Split(line, " ")
		var packages []string
		for i, w := range words {
			if i > 0 && words[i-1] == "-C" {
				packages = append(packages, "-C", w)
			} else if strings.HasPrefix(w, "./") || w == "." && i > 0 && words[i-1] != "-bench" && words[i-1] != "-run" {
				packages = append(packages, w)
			}
		}
		list := strings.Join(packages, " ")
		for i, flag := range words[:len(words)-1] {
			pattern := words[i+1]
			if flag != "-run" && flag != "-bench" && flag != "-fuzz" || strings.HasPrefix(pattern, "$") || packages == nil {
				continue
			}
			pattern, _, _ = strings.Cut(pattern, "/")
			for _, p := range strings.Split(pattern, "|") {
				if p == "^$" || p == "xxx" || p == "." { // meant to match none, or all
					continue
				}
				checked++
				names, err := tests(list)
				if err != nil {
					return nil, 0, fmt.Errorf("%s: %s: %w", file, line, err)
				}
				re, err := regexp.Compile("(?m)" + p)
				if err != nil {
					return nil, 0, fmt.Errorf("%s: %s: %w", file, line, err)
				}
				matched := false
				for _, name := range names {
					matched = matched || re.MatchString(name)
				}
				if !matched {
					wrong = append(wrong, fmt.Sprintf("%s: %s %s names nothing in %s", file, flag, p, list))
				}
			}
		}
	}
	return wrong, checked, nil
}

var known = make(map[string][]string)

// tests reads the names from the files, which is quicker than building the tests.
func tests(packages string) ([]string, error) {
	if names, ok := known[packages]; ok {
		return names, nil
	}
	const files = `{{$d := .Dir}}{{range .TestGoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}`
	args, list := []string{"list", "-f", files}, strings.Fields(packages)
	if len(list) > 1 && list[0] == "-C" {
		args, list = slices.Insert(args, 1, list[:2]...), list[2:]
	}
	out, err := output("go", append(args, list...)...)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range strings.Split(strings.TrimSpace(out), "\n") {
		if name == "" {
			continue
		}
		b, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			return nil, err
		}
		for _, m := range test.FindAllStringSubmatch(string(b), -1) {
			names = append(names, m[1])
		}
	}
	known[packages] = names
	return names, nil
}

func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", cmd, err, stderr.String())
	}
	return string(out), nil
}
