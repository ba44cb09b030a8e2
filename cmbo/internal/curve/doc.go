// Package curve predicts the end of a learning curve from a value on the way there.
//
// The end Y of a curve and its value v at a step are taken for jointly normal over the curves of a task, once each task has
// a scale of its own: [Standardize]. Past tasks tell the six sums of Y and v at each step, together as much as a few curves
// of the run, whose own completed curves are added to them one by one: [Past.Law]. A [Law] then gives the end for a value,
// and what the value alone says of the end, free of what the curves in general do, for models that know more of the point:
// [Law.Evidence].
//
// Values are oriented so that large ones are good. Nothing here knows of runs.
package curve
