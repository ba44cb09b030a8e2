#!/usr/bin/env bash
# Prints results/ablations.md, the areas of the default beside those of the default with one of its settings changed, on the
# tables that may be chosen on. TABLES is the folder of their files, RECORDS one for the records, from which it goes on:
#
#     examples/hpob/ablations.sh TABLES RECORDS > examples/hpob/results/ablations.md
set -euo pipefail
tables=$(realpath "$1")
mkdir -p "$2"
records=$(realpath "$2")
cd "$(dirname "$0")/../.."
go build -tags accel -o "$records/hpob" ./examples/hpob

echo '# Ablations on the tables that may be chosen on

`examples/hpob/ablations.sh` writes this page. Above 1 the change is better than the default, below it the mechanism helps.'
for start in 0 5; do
	folders=
	while read -r name file flags; do
		out=$records/$name-$start
		"$records/hpob" -quiet -experiment paper -acquisition EI -repeats 1 -seed 21 -initial $start -out "$out" -data "$tables/$file.json.gz" $flags \
			-ablate no-compression,half-shrinkage,no-own-process,narrow-lengths,rougher-kernel,smoother-kernel,far-offsets >&2
		folders+=,$out
	done <<'END'
nodejs gauntlet -space nodejs -splits 20 -targets 6
x264 gauntlet -space x264-size -splits 20 -targets 6
taskset gauntlet -space taskset -splits 60 -targets 2
gemm gpu_kernels -space gpu-gemm-old -splits 120 -targets 1
mlp tabular_mlp -splits 60 -targets 6
svm tst_svm -splits 20 -targets 6
adaboost ecml_adaboost -splits 20 -targets 6
forest openml_rf -splits 20 -targets 6
boosting openml_adaboost -splits 20 -targets 6
lcbench yahpo_lcbench -splits 20 -targets 6
rpart yahpo_rpart -splits 20 -targets 6
END
	printf '\n## %s\n\n' "$([ $start = 0 ] && echo 'From the first evaluation' || echo 'After five random evaluations')"
	"$records/hpob" -ratios "${folders#,}"
	echo
	for folder in ${folders//,/ }; do cat "$folder/ratios.md"; done | awk '/^The best of them/ { n++; here += log($14); there += log($16) } END {
		printf "The best change for each of %d files, chosen on half of the divisions: %.2f of the area of the default there, %.2f on the other half.\n",
			n, exp(here / n), exp(there / n) }'
done
