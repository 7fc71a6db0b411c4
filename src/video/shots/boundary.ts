/** How one shot gives way to the next. */
export interface Boundary {
  type: 'cut' | 'fade' | 'dissolve' | 'wipe'
  /** For a cut the first frame of the new shot, for a gradual transition its middle. */
  tMs: number
  /** The last instant that shows the old shot alone. */
  startMs: number
  /** The first instant that shows the new shot alone. */
  endMs: number
  /** Distance of the pictures on both sides, in the units of `FrameFeatures.difference`. */
  strength: number
  /** The blank picture that a fade passes through, if it is clearly black or white. */
  through?: 'black' | 'white'
}

/** A possible boundary. Where several overlap, the detector keeps one. */
export interface BoundaryCandidate extends Boundary {
  score: number
}
