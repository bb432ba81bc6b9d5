#!/bin/bash
# The sum of the squares up to a number, for twelve numbers. As it stands sbatch takes it, too.
#SBATCH --job-name=array-script
#SBATCH --array=1-12%4
#SBATCH --cpus-per-task=1
#SBATCH --mem=50M
#SBATCH --time=00:05:00
#
# What Slurm has no word for.
#TORC --output-file array-script-out/{task}.txt
set -euo pipefail

n=$SLURM_ARRAY_TASK_ID
mkdir -p array-script-out
awk -v n="$n" 'BEGIN { for (i = 1; i <= n; i++) s += i * i; print n, s }' > "array-script-out/$n.txt"
echo "$n of $SLURM_ARRAY_TASK_COUNT on $SLURM_CPUS_PER_TASK CPU(s)"
