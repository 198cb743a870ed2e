// Reads texts, one JSON string a line, and prints Alloy's own verdict on each: its first complaint,
// or nothing.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/grafana/alloy/syntax/diag"
	"github.com/grafana/alloy/syntax/parser"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var text string
		if err := json.Unmarshal(lines.Bytes(), &text); err != nil {
			panic(err)
		}
		_, err := parser.ParseFile("", []byte(text))
		verdict := ""
		if found, ok := err.(diag.Diagnostics); ok && len(found) > 0 {
			verdict = found[0].Message
		} else if err != nil {
			verdict = err.Error()
		}
		fmt.Printf("%q\n", verdict)
	}
}
