/**
 * Heap, in MiB, of threads that read export lines. A line holds a whole trace, which can be far larger than a request.
 */
export const RESTORE_HEAP_MIB = 4096
