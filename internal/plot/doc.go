// Package plot draws charts as SVG and writes self-contained HTML pages around them, with nothing
// but strings: no fonts, scripts or files are needed to make or to read them.
//
// Series of the same name in one figure share a look and a legend entry. There are 32 looks: eight colours told apart in the
// common forms of colour blindness, each with its own marker, in four dash patterns.
//
// Every colour comes from a style sheet that follows the reader's light or dark theme and is light
// on paper. Fonts are not measured but estimated from a table of widths, generously, so text does
// not collide whichever sans-serif face the viewer has.
//
// Any data is legal: NaN and infinite values leave gaps, empty and constant series keep a readable
// axis, what is not positive runs along the edge of a logarithmic axis. Text is escaped; bytes that
// XML forbids are replaced. The output is a function of the input alone, byte for byte.
package plot
