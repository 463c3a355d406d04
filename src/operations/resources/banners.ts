/** Banners that administrators set and the web UI shows to all users. */
import { z } from 'zod'
import { Banner, BannerChange } from '../../banners/banners.ts'
import { GatewayError } from '../../errors.ts'
import { nothing } from '../../json/schemas.ts'
import { operationsWith } from '../declare.ts'
import { aboutGateway, adminOnly } from '../demands.ts'
import { DirectAnswer, type Operation, type OperationRequest } from '../operation.ts'

const { get, post, put, remove } = operationsWith({ demands: adminOnly })
const onePath = '/banners/{id}'
const unknown = { 404: 'There is no banner with this id.' }
const BannerPatch = BannerChange.partial().meta({ id: 'BannerPatch' })

const one = operationsWith({ demands: adminOnly, answer: Banner, errors: unknown })

export const bannerOperations: Operation[] = [
  get('getActiveBannersUsingGET', '/banners', {
    demands: aboutGateway,
    summary: 'List active announcements',
    description: 'Banners that are enabled and within their time.',
    handle: (_request, { banners }) => banners.active(),
    answer: z.array(Banner),
  }),
  put('saveBannerUsingPUT', '/banners', {
    summary: 'Save an announcement',
    description: 'Creates a banner, or replaces the one with the same id. Without an id it gets one.',
    body: { schema: BannerChange, required: true },
    handle: ({ body }, { banners }) => banners.save(BannerChange.parse(body)),
    answer: Banner,
  }),
  remove('deleteAllBannersUsingDELETE', '/banners', {
    summary: 'Delete all announcements',
    description: 'Deletes all banners. The response header `X-Deleted-Count` has their number.',
    handle: async (_request, { banners }) =>
      new DirectAnswer(204, undefined, { 'x-deleted-count': String(await banners.removeAll()) }),
    success: 204,
    answer: nothing,
  }),
  get('getAllBannersUsingGET', '/banners/all', {
    summary: 'List all announcements',
    description: 'All banners, the oldest first.',
    handle: (_request, { banners }) => banners.all(),
    answer: z.array(Banner),
  }),
  post('refreshBannersUsingPOST', '/banners/refresh', {
    summary: 'Reload announcements',
    description: 'Has this replica read the banners now, before `global-banner.refresh-interval-ms` is over.',
    handle: async (_request, { banners }) => banners.refresh(),
    answer: nothing,
  }),
  one.get('getBannerUsingGET', onePath, {
    summary: 'Get an announcement',
    handle: (request, { banners }) => banners.find(idOf(request)),
  }),
  one.post('changeBannerUsingPOST', onePath, {
    summary: 'Change an announcement',
    description: 'Changes the fields that the body names; null removes one.',
    body: { schema: BannerPatch, required: true },
    handle: (request, { banners }) => banners.change(idOf(request), patchOf(request)),
  }),
  one.remove('deleteBannerUsingDELETE', onePath, {
    summary: 'Delete an announcement',
    handle: (request, { banners }) => banners.remove(idOf(request)),
    success: 204,
    answer: nothing,
  }),
]

function idOf({ path }: OperationRequest): string {
  return path['id'] as string
}

/** Only what the body names: a default would change what it does not name. */
function patchOf(request: OperationRequest): Partial<BannerChange> {
  const body = request.body as Record<string, unknown>
  const { id, ...patch } = BannerPatch.parse(body)
  if (id != null && id !== idOf(request)) {
    throw new GatewayError('BAD_ARGUMENT', `The body is banner "${id}", the path names "${idOf(request)}".`)
  }
  return Object.fromEntries(Object.entries(patch).filter(([name]) => Object.hasOwn(body, name)))
}
