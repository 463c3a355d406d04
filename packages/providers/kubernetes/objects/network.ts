/** Services, ingresses and network policies: the fields that Fairlead reads. */
import { objectList, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { numberOf, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { toLabels } from '../objects.ts'

const toBalancer = shape({ ingress: objectList(shape({ host: [textOf, 'hostname', 'ip'] })) })
const toStatus = shape({ loadBalancer: toBalancer })
export type BalancerStatus = ShapeOf<typeof toStatus>

export const toService = shape({
  spec: shape({
    selector: toLabels,
    ports: objectList(
      shape({ name: or(textOf, ''), protocol: or(textOf, 'TCP'), port: or(numberOf, 80) }),
    ),
    portsAsGiven: [objectsOf, 'ports'],
  }),
  status: toStatus,
})
export type KubeService = ShapeOf<typeof toService>

const toBackend = shape({ service: shape({ name: textOf }) })

export const toIngress = shape({
  spec: shape({
    defaultBackend: toBackend,
    rules: objectList(
      shape({ host: textOf, http: shape({ paths: objectList(shape({ backend: toBackend })) }) }),
    ),
    tls: objectList(shape({ hosts: textsOf })),
  }),
  status: toStatus,
})
export type Ingress = ShapeOf<typeof toIngress>

const toPolicyRule = shape({
  ports: objectList(
    shape({
      protocol: or(textOf, 'TCP'),
      port: toPortNumber,
      portName: [textOf, 'port'],
      endPort: numberOf,
    }),
  ),
})
export type PolicyRule = ShapeOf<typeof toPolicyRule>

export const toNetworkPolicy = shape({
  spec: shape({ ingress: objectList(toPolicyRule), egress: objectList(toPolicyRule) }),
})

/** A text is the name of a port. */
function toPortNumber(value: unknown): number | undefined {
  return typeof value === 'string' ? undefined : numberOf(value)
}
