/**
 * Node's module for HTTP. An `import` of `node:http` reads each of its exports, and one of those loads the whole of Node's own
 * `fetch`, which Fairlead does not use: 45 ms of processor time in each process and thread. Types are imported as usual.
 */

export const http = process.getBuiltinModule('node:http')
