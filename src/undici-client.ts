/**
 * The client of undici. An import of the whole package also loads its `fetch`, caches, proxies and mocks, which Fairlead does not
 * use: 9 MB and 50 ms of processor time in each process and thread. Types are imported as usual.
 */
import request from 'undici/lib/api/api-request.js'
import Client from 'undici/lib/dispatcher/client.js'

// As the package does for each of its dispatchers.
Object.assign(Client.prototype, { request })

export { Client }
