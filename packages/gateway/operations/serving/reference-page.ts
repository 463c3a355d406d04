/** The page to browse the API: Scalar's reference, served from this origin. */
import Fastify from 'fastify'
import { escapeHtml, icon } from '../../http/page.ts'
import { withoutSchemas } from '../../http/without-schemas.ts'
import { DirectAnswer } from '../operation.ts'

/** The page may reach this origin only, whatever its script would like to load. */
const policy = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-eval'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data: blob:",
  'font-src data:',
  "connect-src 'self'",
  'worker-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const configuration = {
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  mcp: { disabled: true },
  agent: { disabled: true },
}

export function referencePage(baseUrl: string): DirectAnswer {
  // Without the host, the page works behind a proxy whose headers are not believed, too.
  const base = new URL(baseUrl).pathname.replace(/\/$/, '')
  const settings = JSON.stringify({
    ...configuration,
    servers: [{ url: base === '' ? '/' : base }],
  }).replaceAll('"', '&quot;')
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="${escapeHtml(icon)}">
<link rel="preload" href="${base}/openapi.json" as="fetch" crossorigin>
<title>Fairlead API</title>
</head>
<body>
<script id="api-reference" data-url="${base}/openapi.json" data-configuration="${settings}"></script>
<script src="${base}/swagger-ui/reference.js"></script>
</body>
</html>
`
  return new DirectAnswer(200, page, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
  })
}

let script: Promise<Buffer> | undefined

export async function referenceScript(): Promise<DirectAnswer> {
  script ??= loadScript()
  return new DirectAnswer(200, await script, {
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'private, max-age=86400',
    pragma: '',
    expires: '',
  })
}

/** The package offers its script through a plug-in only; a server that never listens hands it out. */
async function loadScript(): Promise<Buffer> {
  const { default: plugin } = await import('@scalar/fastify-api-reference')
  const server = Fastify({ schemaController: withoutSchemas })
  await server.register(plugin, {
    routePrefix: '/reference',
    configuration: { url: '/openapi.json' },
  })
  const answer = await server.inject('/reference/js/scalar.js')
  await server.close()
  if (answer.statusCode !== 200)
    throw new Error(`the reference page has no script: ${answer.statusCode}`)
  return answer.rawPayload
}
