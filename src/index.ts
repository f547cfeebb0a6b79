/** The package's public face: the one file that only re-exports. */
export {}
