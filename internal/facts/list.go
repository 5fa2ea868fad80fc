package facts

import "strings"

// List writes names with commas between them. A folder of several is written once: cmd/{main.go, tree.go}.
func List(names []string) string {
	in := map[string][]string{}
	for _, name := range names {
		folder := name[:strings.LastIndexByte(name, '/')+1]
		in[folder] = append(in[folder], name[len(folder):])
	}
	var list []string
	for _, name := range names {
		folder := name[:strings.LastIndexByte(name, '/')+1]
		switch files := in[folder]; {
		case folder == "" || len(files) == 1:
			list = append(list, name)
		case len(files) > 1:
			list = append(list, folder+"{"+strings.Join(files, ", ")+"}")
			in[folder] = nil
		}
	}
	return strings.Join(list, ", ")
}

// Listed returns the names in what [List] wrote.
func Listed(list string) (names []string) {
	folder := ""
	for name := range strings.SplitSeq(list, ", ") {
		if before, file, ok := strings.Cut(name, "/{"); ok {
			folder, name = before+"/", file
		}
		file, last := strings.CutSuffix(name, "}")
		if names = append(names, folder+file); last {
			folder = ""
		}
	}
	return names
}
