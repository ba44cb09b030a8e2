package main

import (
	"math"
	"math/rand/v2"

	"github.com/gocmbo/cmbo/cmbo"
)

// A job is a simulated server under one workload. Its latency is the sum of waiting
// in a queue, work, misses of a cache and the filling of batches; it runs out of
// memory where threads, their batches and the cache take more than the machine has.
type job struct {
	cores  float64
	memory float64 // of the machine, MB
	rate   float64 // requests/s
	work   float64 // CPU time of a request, ms
	fixed  float64 // of a batch of requests, ms
	set    float64 // size of the data in use, MB
	disk   float64 // time of a miss, ms
	row    float64 // memory of a request under way, MB
	scans  float64 // share of requests that read ahead
}

// serverSpace holds the settings of the server.
func serverSpace() (*cmbo.Space, error) {
	return cmbo.NewSpace(
		cmbo.LogInt("threads", 1, 256),
		cmbo.LogInt("cache_mb", 64, 65536),
		cmbo.LogInt("batch", 1, 512),
		cmbo.LogFloat("stack_mb", 1, 256),
		cmbo.Ordinal("read_ahead", 0, 1, 2, 4, 8, 16, 32),
		cmbo.LogFloat("flush_ms", 0.1, 1000),
	)
}

// newJob draws a workload.
func newJob(r *rand.Rand) *job {
	log := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, r.Float64()) }
	j := &job{
		cores: math.Exp2(float64(2 + r.IntN(4))), memory: math.Exp2(float64(12 + r.IntN(4))),
		work: log(0.5, 8), fixed: log(0.2, 5), disk: log(2, 20), row: log(0.05, 2), scans: r.Float64(),
	}
	j.set = j.memory * log(0.3, 3)
	j.rate = 1000 * j.cores / (j.work + j.fixed) * log(0.2, 0.7)
	return j
}

// cost returns the mean latency in ms of a setting, false where the server runs
// out of memory.
func (j *job) cost(row []float64) (ms float64, ok bool) {
	threads, cache, batch, stack, ahead, flush := row[0], row[1], row[2], row[3], row[4], row[5]
	used := 512 + cache + threads*(stack+batch*j.row*(1+0.1*ahead))
	if used > j.memory {
		return 0, false
	}
	// Batches share the fixed work, and wait until they are full or flushed.
	fill := math.Min(flush, 1000*(batch-1)/j.rate/2)
	size := math.Min(batch, 1+2*fill*j.rate/1000)
	miss := math.Exp(-1.5 * cache / j.set)
	useful := 1 + j.scans*math.Min(ahead, 8)
	waste := 0.03 * ahead * (1 - j.scans)
	read := miss * j.disk * (1/useful + waste)
	// A stack too small for a batch spills to the disk.
	spill := 0.2 * j.disk * math.Max(0, 1-stack/(4+0.5*batch*j.row))
	flushes := 2 / flush * j.fixed
	cpu := j.work*(1+flushes) + j.fixed/size + 0.01*j.work*math.Max(0, threads/j.cores-4)
	// Threads that wait for the disk leave their core to others.
	capacity := math.Min(1000*threads/(cpu+read+spill), 1000*j.cores/cpu)
	load := j.rate / capacity
	wait := cpu * load / math.Max(1-load, 0.05)
	if load > 0.95 {
		wait += 100 * cpu * (load - 0.95)
	}
	return fill + cpu + read + spill + wait, true
}
