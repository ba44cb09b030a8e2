// Package history reads tuning histories into tasks for [cmbo.Learn], and writes tasks and finished
// runs as comma-separated values and as JSON lines.
//
//	past, err := history.CSV{Space: space}.Read(file)
//	prior, err := cmbo.Learn(ctx, space, past.Tasks)
//
//	what you have                                    what reads it
//	a spreadsheet saved as CSV, names of your own     CSV with a Mapping
//	mlflow.search_runs().to_csv()                     MLflow(space, metric).Read
//	study.trials_dataframe().to_csv()                 OptunaFrame(space, id).Read
//	Optuna's JournalStorage                           Optuna, which infers the space
//	Optuna's SQLite                                   optuna.copy_study to a journal, then Optuna
//	W&B's table of runs, exported                     WandB(space, metric, id).Read
//	Katib's kubectl get trials --output json          Katib
//	one JSON object a line                            JSONLines
//	HPO-B, or a table of its form                     HPOB
//
// # Grammar
//
// A format is a struct that describes the file: [CSV], [JSONLines], [Optuna], [Katib], [HPOB]. With the space alone set it
// is usable. The Read of CSV and JSONLines reads back bit for bit what their Write wrote, but outputs, descriptors and
// curves, which Write writes unasked, only where Mapping.Outputs, Mapping.Context and Curve name them. The caller unpacks
// inputs packed with gzip, except HPO-B's. For files of other kinds the error says how to convert them.
//
// A reader returns a [Result]: the space, the tasks, and a [Report] of its rows. What it accepts is a point of the space
// with a finite value, as cmbo.Learn wants it, or one whose evaluation failed. Anything else is a bad row, and the [Policy]
// says what becomes of it; trouble that concerns the input as a whole ends the reading under any policy.
//
// # Errors
//
// Bad rows and bad inputs are a [*RowError] with the line, the field, its text
// and the reason. They wrap the sentinels of package cmbo:
//
//	ErrCorrupt     the text is not of the format, or lacks a column;
//	               ErrColumn wraps it for those of outputs and descriptors
//	ErrValue       a value or a noise variance is missing, no number, NaN,
//	               infinite, beyond ±1e150 or, a variance, negative; a
//	               descriptor is infinite
//	ErrOutOfSpace  a parameter is missing, no number, out of range, not a whole
//	               number or an unknown choice
//	ErrTask        a task has no ID, an ID or a descriptor is not UTF-8, or
//	               studies do not go together
//	ErrSpace       no space can be inferred, or it cannot be written
//	ErrNoTasks     the input has no row, or none with a value
//	ErrVersion     the journal has operations or types not known here
//	ErrOption      the description of the format contradicts itself
//
// Errors of the reader and the writer are returned as they are. A call that fails returns no tasks.
//
// # Limits
//
// Inputs are streamed: memory holds the tasks and one row or trial, of a journal all trials that may be read,
// failed ones too. [CSV.Tasks] and [JSONLines.Tasks] yield the tasks one by one. The number of rows is not limited:
// set Bytes of [Limits] for what comes from strangers. Integers are those that a float64 holds, up to 2^53.
package history
