package cmbo

import "github.com/gocmbo/cmbo/cmbo/internal/codec"

// MarshalJSON has null for numbers that are NaN or infinite.
func (c Calibration) MarshalJSON() ([]byte, error) { return codec.JSON(c) }

// MarshalJSON has null for numbers that are NaN or infinite.
func (r CheckReport) MarshalJSON() ([]byte, error) { return codec.JSON(r) }

// MarshalJSON has null for numbers that are NaN or infinite.
func (e Explanation) MarshalJSON() ([]byte, error) { return codec.JSON(e) }

// MarshalJSON has null for numbers that are NaN or infinite.
func (u Outlook) MarshalJSON() ([]byte, error) { return codec.JSON(u) }

// MarshalJSON has null for numbers that are NaN or infinite.
func (p Prospect) MarshalJSON() ([]byte, error) { return codec.JSON(p) }

// MarshalJSON has null for numbers that are NaN or infinite.
func (r Recommendation) MarshalJSON() ([]byte, error) { return codec.JSON(r) }

// MarshalJSON has null for numbers that are NaN or infinite.
func (s Step) MarshalJSON() ([]byte, error) { return codec.JSON(s) }
