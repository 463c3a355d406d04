import { createServer } from 'node:http'
import { greeting } from './greeting.mjs'

createServer((_request, response) => response.end(`${greeting()}\n`)).listen(process.env.PORT, process.env.HOST)
