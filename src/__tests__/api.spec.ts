import { ServerConnection } from '@jupyterlab/services';
import { DoctorClient } from '../api';

function client(answer: () => Promise<Response>) {
  const asked: string[] = [];
  const settings = ServerConnection.makeSettings({
    baseUrl: 'http://host/base/',
    fetch: (request: RequestInfo | URL) => {
      asked.push((request as Request).url);
      return answer();
    }
  });
  return { asked, doctor: new DoctorClient(settings) };
}

const json = (body: unknown, status = 200) =>
  Promise.resolve(new Response(JSON.stringify(body), { status }));

it('reads the list and a report', async () => {
  const { asked, doctor } = client(() => json([]));
  expect(await doctor.list()).toEqual([]);
  await doctor.report('20261121T032136Z-1-ab');
  expect(asked.map(url => url.replace(/\?.*/, ''))).toEqual([
    'http://host/base/kerneldoctor/recordings',
    'http://host/base/kerneldoctor/recordings/20261121T032136Z-1-ab'
  ]);
});

it('asks what a kernel is doing; a refusal is an answer, too', async () => {
  const { asked, doctor } = client(() => json({ refused: 'gone' }, 409));
  expect(await doctor.inspect('r/1')).toEqual({ refused: 'gone' });
  expect(asked[0]).toContain('kerneldoctor/recordings/r%2F1/inspect');
});

it('does not leave its folder, whatever the id', async () => {
  const { asked, doctor } = client(() => json({}));
  await doctor.report('../../api/contents');
  expect(asked[0]).toContain('recordings/..%2F..%2Fapi%2Fcontents');
});

it('keeps links to the reference pages on this server', () => {
  const { doctor } = client(() => json({}));
  expect(doctor.docsUrl('kerneldoctor/docs/causes/segfault')).toBe(
    'http://host/base/kerneldoctor/docs/causes/segfault'
  );
  for (const path of ['javascript:alert(1)', '//evil/x', 'https://evil/x']) {
    expect(doctor.docsUrl(path)).toMatch(/^http:\/\/host\/base\//);
  }
});

it.each([
  ['list', 404, 'not-installed'],
  ['report', 404, 'deleted'],
  ['list', 403, 'signed-out'],
  ['list', 500, 'failed']
] as const)('%s: %d means %s', async (call, status, failure) => {
  const { doctor } = client(() => json({ message: 'said so' }, status));
  const failed = doctor[call]('x');
  await expect(failed).rejects.toMatchObject({ failure, message: 'said so' });
});

it('a server that is not there is unreachable', async () => {
  const { doctor } = client(() => Promise.reject(new TypeError('no route')));
  await expect(doctor.list()).rejects.toMatchObject({
    failure: 'unreachable'
  });
});

it('an answer that is no JSON is a failure, not a crash', async () => {
  const { doctor } = client(() => Promise.resolve(new Response('<html>')));
  await expect(doctor.list()).rejects.toMatchObject({ failure: 'failed' });
});
