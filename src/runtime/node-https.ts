/** Node's module for HTTPS, apart from `node-http.ts`: the agent needs it, and 3 MB for it, only where a listener uses TLS. */

export const https = process.getBuiltinModule('node:https')
