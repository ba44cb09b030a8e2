#!/usr/bin/env bash
# Prints the areas of the default beside those of the default with one of its settings changed. TABLES is the folder of the
# tables' files, RECORDS one for the records, from which it goes on; on the tables that may be chosen on, or on those on
# which nothing was:
#
#     examples/hpob/ablations.sh choosing TABLES RECORDS > examples/hpob/results/ablations.md
#     examples/hpob/ablations.sh reporting TABLES RECORDS > examples/hpob/results/ablations-reporting.md
set -euo pipefail
group=$1
case $group in
choosing)
	title='Ablations on the tables that may be chosen on'
	flags='-seed 21 -ablate no-compression,half-shrinkage,no-own-process,free-lengths,held-lengths,rougher-kernel,smoother-kernel,far-offsets'
	runs='
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
rpart yahpo_rpart -splits 20 -targets 6'
	;;
reporting)
	title='Ablations on tables on which nothing was chosen'
	flags='-ablate all'
	runs='
imagemagick gauntlet -space imagemagick -splits 10 -targets 6
amination gauntlet -space aryl-amination -splits 30 -targets 2
deeparch gauntlet -space deeparch -splits 60 -targets 1
storm gauntlet -space storm -splits 60 -targets 1
dedisp gpu_kernels -space gpu-dedisp -splits 60 -targets 1'
	;;
*)
	echo "choosing or reporting, not $group" >&2
	exit 2
	;;
esac
tables=$(realpath "$2")
mkdir -p "$3"
records=$(realpath "$3")
cd "$(dirname "$0")/../.."
go build -tags accel -o "$records/hpob" ./examples/hpob

echo "# $title

\`examples/hpob/ablations.sh $group\` writes this page. Above 1 the change is better than the default, below it the mechanism helps."
for start in 0 5; do
	folders=
	while read -r name file more; do
		out=$records/$name-$start
		"$records/hpob" -quiet -experiment paper -acquisition EI -repeats 1 -initial $start -out "$out" -data "$tables/$file.json.gz" $flags $more >&2
		folders+=,$out
	done <<<"${runs#?}"
	printf '\n## %s\n\n' "$([ $start = 0 ] && echo 'From the first evaluation' || echo 'After five random evaluations')"
	"$records/hpob" -ratios "${folders#,}"
	[ "$group" = choosing ] || continue
	echo
	for folder in ${folders//,/ }; do cat "$folder/ratios.md"; done | awk '/^The best of them/ { n++; here += log($14); there += log($16) } END {
		printf "The best change for each of %d files, chosen on half of the divisions: %.2f of the area of the default there, %.2f on the other half.\n",
			n, exp(here / n), exp(there / n) }'
done
