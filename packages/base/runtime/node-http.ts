/**
 * Node's module for HTTP, as the agent loads it: an `import` of `node:http` reads each of its exports, and one of those loads the whole of
 * Node's own `fetch`, for 40 ms, in which an agent that takes over does not serve.
 */
export const http = process.getBuiltinModule('node:http')
