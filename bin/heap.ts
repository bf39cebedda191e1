/** Heap, in MiB, of threads that read export lines. A line holds a whole trace, far larger than a request may be. */
export const RESTORE_HEAP_MIB = 4096
