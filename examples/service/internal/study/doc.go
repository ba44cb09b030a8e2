// Package study runs many cmbo optimisers whose every event is on disk before
// the call that caused it returns.
//
// A [Manager] has the studies and priors of one directory:
//
//	lock                  held by the process that works there
//	studies/<id>.log      one study, see below
//	marks/<id>.mark       how far that was acknowledged, a cmbo.JournalMark and which journal it is of
//	priors/<digest>.prior an encoded cmbo.Prior, never changed until it is removed
//	names/<name>.name     the digest that a name stands for, likewise
//
// A [Study] is one optimiser and its log, a [disk.Log]. Each transaction of it is
// what one request did: the lines that the optimiser's journal got (see
// cmbo.WithJournal), together with the request's key. So either all of a request
// is on disk or nothing, whatever the number of trials it asked for; and a
// request that is repeated because its answer was lost finds its key. The lines
// alone, in their order, are a journal that cmbo.RestoreJournal reads. A transaction that gives
// the study another prior begins another journal, whose first line is the state as it is: the log holds one journal
// after the other, and the last one is read.
//
// Requests look at a view in memory, which follows from the transactions alone, so that a restarted service sees what the one
// before saw.
//
// Nothing here knows a clock: deadlines of trials, and the time they are compared
// with, are the caller's.
package study
