#!/usr/bin/env bash
# Prints the areas of the default beside those of the default with one of its settings changed. TABLES is the folder of the
# tables' files, RECORDS one for the records, from which it goes on; on the tables that may be chosen on, mechanisms,
# constants, or what concerns few past tasks, or mechanisms on those tables on which nothing was chosen:
#
#     examples/hpob/ablations.sh choosing TABLES RECORDS > examples/hpob/results/ablations.md
#     examples/hpob/ablations.sh constants TABLES RECORDS > examples/hpob/results/constants.md
#     examples/hpob/ablations.sh few TABLES RECORDS > examples/hpob/results/few.md
#     examples/hpob/ablations.sh reporting TABLES RECORDS > examples/hpob/results/ablations-reporting.md
set -euo pipefail
group=$1
heads=('From the first evaluation' 'After five random evaluations')
starts=('-initial 0' '')
case $group in
choosing | constants | few)
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
	if [ "$group" = few ]; then
		title='Few past tasks, on the tables that may be chosen on'
		flags='-seed 1405 -ablate em-alone,free-lengths,held-lengths,no-reversal,always-transfer,OwnNoise=0'
		heads=('One past task, from the first evaluation' 'Three past tasks, from the first evaluation' 'Three past tasks, after five random evaluations')
		starts=('-initial 0 -sources 1' '-initial 0 -sources 3' '-sources 3')
	fi
	if [ "$group" = constants ]; then
		title='Constants of the default, on the tables that may be chosen on'
		flags='-seed 1370 -ablate Shrink=0.05,Shrink=0.2,Steps=8,Steps=32,PriorTasks=4,PriorTasks=40,Shares=0.5,Besides=0.02:0.2'
		flags+=,Besides=0.1:1,Besides=0.2,NoTransferMass=0.1,NoTransferMass=0.4,Reversed=0.07,Reversed=0.3,ReversedTail=0.25,TransferTail=0.1
		flags+=,TransferTail=0.4,NoTransferTail=0.4,OtherUnits=0.02,OtherUnits=0.2,MaxParts=1,Neighbours=16,OwnUnit=1.5,Hedge.Trust=0.6
		heads[1]='Three past tasks, from the first evaluation'
		starts[1]='-initial 0 -sources 3'
	fi
	if [ "$group" != choosing ]; then # half of the runs: they are many changes, or many cells
		runs=${runs//-splits 20/-splits 10} runs=${runs//-splits 60/-splits 30} runs=${runs//-splits 120/-splits 60}
	fi
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
	echo "choosing, constants, few or reporting, not $group" >&2
	exit 2
	;;
esac
tables=$(realpath "$2")
mkdir -p "$3"
records=$(realpath "$3")
cd "$(dirname "$0")/../.."
go build -o "$records/hpob" ./examples/hpob

echo "# $title

\`examples/hpob/ablations.sh $group\` writes this page. Above 1 the change is better than the default, below it the mechanism helps."
for cell in "${!heads[@]}"; do
	folders=
	while read -r name file more; do
		out=$records/$name-$cell
		"$records/hpob" -quiet -experiment paper -acquisition EI -repeats 1 ${starts[cell]} -out "$out" -data "$tables/$file.json.gz" $flags $more >&2
		folders+=,$out
	done <<<"${runs#?}"
	printf '\n## %s\n\n' "${heads[cell]}"
	"$records/hpob" -ratios "${folders#,}"
	[ "$group" != reporting ] || continue
	echo
	for folder in ${folders//,/ }; do cat "$folder/ratios.md"; done | awk '/^The best of them/ { n++; here += log($14); there += log($16) } END {
		printf "The best change for each of %d files, chosen on half of the divisions: %.2f of the area of the default there, %.2f on the other half.\n",
			n, exp(here / n), exp(there / n) }'
done
