package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/internal/plot"
)

// object is an object of JSON.
type object = map[string]any

// describer makes the schemas of types of package api.
type describer struct{ schemas object }

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// The library's types, as it writes and reads them.
var librarySchemas = object{
	"Space": object{
		"type": "object", "required": []string{"params"}, "additionalProperties": false,
		"description": "What is tuned: parameters, or a list of candidates, each a row of their values. Choices are numbered from 0, false is 0 and true 1.",
		"properties": object{
			"params":     object{"type": "array", "items": ref("Param")},
			"candidates": object{"type": "array", "items": ref("Row")},
		},
	},
	"Param": object{
		"type": "object", "required": []string{"name", "kind"}, "additionalProperties": false, "description": "A parameter.",
		"properties": object{
			"name": object{"type": "string"},
			"kind": object{"type": "string", "enum": []string{"float", "logfloat", "int", "logint", "ordinal", "categorical",
				"bool"}},
			"lo": object{"type": "number"}, "hi": object{"type": "number"},
			"step":    object{"type": "number", "description": "of float and int"},
			"choices": object{"type": "array", "items": object{"type": "string"}, "description": "of categorical"},
			"values":  object{"type": "array", "items": object{"type": "number"}, "description": "of ordinal"},
		},
	},
}

// schema describes a type.
func (d *describer) schema(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[cmbo.Space](), reflect.TypeFor[cmbo.Param]():
		d.schemas[t.Name()] = librarySchemas[t.Name()]
		return ref(t.Name())
	case reflect.TypeFor[api.Row]():
		d.schemas["Row"] = object{"type": "array", "items": object{"type": "number"}, "description": api.Comments()["Row"]}
		return ref("Row")
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.schema(t.Elem())
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	case reflect.Slice:
		items := d.schema(t.Elem())
		if t.Elem().Kind() == reflect.Pointer {
			items["nullable"] = true
		}
		return object{"type": "array", "items": items}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.schema(t.Elem())}
	case reflect.Struct:
		if t.Name() == "" {
			return object{"type": "object", "additionalProperties": false}
		}
		if _, known := d.schemas[t.Name()]; !known {
			s := object{"type": "object", "additionalProperties": false}
			d.schemas[t.Name()] = s // before its fields, one of which may be of it
			properties := object{}
			var required []string
			d.fields(t, properties, &required)
			s["properties"] = properties
			if text := api.Comments()[t.Name()]; text != "" {
				s["description"] = text
			}
			if len(required) > 0 {
				s["required"] = required
			}
		}
		return ref(t.Name())
	}
	return object{} // any value
}

// optional are fields of requests that are always written and need not be sent.
var optional = []string{"options", "x", "y"}

// fields describes the fields of a struct, those of embedded ones among them.
func (d *describer) fields(t reflect.Type, properties object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			d.fields(f.Type, properties, required)
			continue
		}
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		s := d.schema(f.Type)
		null := f.Type.Kind() == reflect.Pointer && rest == ""
		text := api.Comments()[t.Name()+"."+f.Name]
		if _, isRef := s["$ref"]; isRef && (null || text != "") {
			s = object{"allOf": []any{s}}
		}
		if null {
			s["nullable"] = true
		}
		if text != "" {
			s["description"] = text
		}
		properties[name] = s
		if rest == "" && !slices.Contains(optional, name) {
			*required = append(*required, name)
		}
	}
}

var inPath = regexp.MustCompile(`\{(\w+)\}`)

// description is the description of the JSON interface in the form of OpenAPI 3.0.
func (s *Server) description() object {
	d := &describer{schemas: object{}}
	content := func(v any, kind string) object {
		if kind == "" {
			kind = jsonKind
		}
		schema := object{"type": "string"}
		if kind == binaryKind {
			schema["format"] = "binary"
		}
		if v != nil && kind != eventKind {
			schema = d.schema(reflect.TypeOf(v))
		} else if v != nil { // told of beside the stream that carries it
			d.schema(reflect.TypeOf(v))
		}
		return object{kind: object{"schema": schema}}
	}
	failure := object{"description": "what is wrong", "content": content(api.Error{}, "")}
	paths := object{}
	for _, r := range s.routes() {
		op := object{
			"summary": r.summary, "operationId": operation(r),
			"responses": object{
				strconv.Itoa(max(r.status, http.StatusOK)): object{"description": "done", "content": content(r.reply, r.replyKind)},
				"default": failure,
			},
		}
		if r.status != 0 { // the same request again
			op["responses"].(object)["200"] = object{"description": "done before", "content": content(r.reply, r.replyKind)}
		}
		var parameters []any
		for _, m := range inPath.FindAllStringSubmatch(r.path, -1) {
			schema := object{"type": "string"}
			if m[1] == "trial" {
				schema = object{"type": "integer"}
			}
			parameters = append(parameters, object{"name": m[1], "in": "path", "required": true, "schema": schema})
		}
		for _, p := range r.query {
			schema := object{"type": "string"}
			if p.number {
				schema = object{"type": "integer"}
			} else if p.values != nil {
				schema["enum"] = p.values
			}
			parameters = append(parameters, object{"name": p.name, "in": "query", "description": p.summary, "schema": schema})
		}
		if r.limit > 0 {
			op["requestBody"] = object{"required": true, "content": content(r.body, r.bodyKind)}
		}
		if r.limit == smallBody {
			parameters = append(parameters, object{
				"name": api.KeyHeader, "in": "header", "schema": object{"type": "string", "maxLength": 64},
				"description": "A request that is sent again with its key is done once.",
			})
		}
		if parameters != nil {
			op["parameters"] = parameters
		}
		if r.path == healthPath {
			op["security"] = []any{}
		}
		item, ok := paths[r.path].(object)
		if !ok {
			item = object{}
			paths[r.path] = item
		}
		item[strings.ToLower(r.method)] = op
	}
	return object{
		"openapi": "3.0.3",
		"info": object{
			"title": "cmbo", "version": "1",
			"description": "Bayesian optimisation that learns from past tasks. Bodies are strict: no unknown field, no key twice, none in another case.",
		},
		"paths":    paths,
		"security": []any{object{"token": []any{}}},
		"components": object{
			"schemas": d.schemas,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer",
				"description": "where the service was started with one"}},
		},
	}
}

// operation names a request, such as postStudiesAsk.
func operation(r *route) string {
	name := strings.ToLower(r.method)
	for _, part := range strings.Split(strings.TrimPrefix(r.path, "/v1/"), "/") {
		part, one := strings.CutPrefix(strings.TrimSuffix(strings.TrimSuffix(part, ".json"), "}"), "{")
		if one {
			name += "One"
		} else {
			name += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return name
}

func (s *Server) openapi(*request) (int, any, error) { return http.StatusOK, s.description(), nil }

// documentation is the description as a page.
func (s *Server) documentation(w http.ResponseWriter, _ *http.Request) {
	p := plot.NewPage("Requests")
	p.HTML(backLink)
	p.Text("The same for programs, in the form of OpenAPI 3.0: `GET /v1/openapi.json`. Refusals are `Error`s.")
	d := &describer{schemas: object{}}
	p.Section("Requests")
	for _, r := range s.routes() {
		p.Subsection(r.method + " " + r.path)
		text := strings.ToUpper(r.summary[:1]) + r.summary[1:] + "."
		for _, part := range []struct {
			what, kind string
			v          any
		}{{"Body", r.bodyKind, r.body}, {"Reply", r.replyKind, r.reply}} {
			name := part.kind
			if part.v != nil {
				d.schema(reflect.TypeOf(part.v))
				if n := reflect.TypeOf(part.v).Name(); n != "" {
					name = strings.TrimSpace(n + " " + name)
				}
			}
			if name != "" {
				text += fmt.Sprintf(" %s: `%s`.", part.what, name)
			}
		}
		p.Text(text)
		var list []string
		for _, q := range r.query {
			list = append(list, "`?"+q.name+"=` "+q.summary)
		}
		if list != nil {
			p.List(list...)
		}
	}
	d.schema(reflect.TypeFor[api.Error]())
	p.Section("Types")
	for _, name := range slices.Sorted(maps.Keys(d.schemas)) {
		schema := d.schemas[name].(object)
		p.Subsection(name)
		if text, ok := schema["description"].(string); ok {
			p.Text(text)
		}
		properties, _ := schema["properties"].(object)
		if len(properties) == 0 {
			continue
		}
		table := &plot.Table{Columns: plot.Titled("field", "type", "what it is")}
		for _, f := range slices.Sorted(maps.Keys(properties)) {
			property := properties[f].(object)
			text, _ := property["description"].(string)
			table.Rows = append(table.Rows, []plot.Cell{plot.Str("`" + f + "`"), plot.Str(typeName(property)), plot.Str(text)})
		}
		p.Table(table)
	}
	s.html(w, http.StatusOK, p)
}

// typeName says what a schema describes in a few words.
func typeName(schema object) string {
	if all, ok := schema["allOf"].([]any); ok {
		return typeName(all[0].(object))
	}
	if r, ok := schema["$ref"].(string); ok {
		return r[strings.LastIndexByte(r, '/')+1:]
	}
	if items, ok := schema["items"].(object); ok {
		return "list of " + typeName(items)
	}
	if more, ok := schema["additionalProperties"].(object); ok {
		return "object of " + typeName(more)
	}
	if text, ok := schema["type"].(string); ok {
		return text
	}
	b, err := json.Marshal(schema)
	if err != nil || len(schema) == 0 {
		return "any value"
	}
	return string(b)
}
