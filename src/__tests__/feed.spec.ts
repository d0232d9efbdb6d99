import { ServerConnection } from '@jupyterlab/services';
import { LiveFeed } from '../live';

describe('the feed', () => {
  const sockets: FakeSocket[] = [];
  class FakeSocket {
    readyState = 0;
    sent: string[] = [];
    onopen = () => undefined;
    onclose = () => undefined;
    onmessage: (event: { data: string }) => void = () => undefined;
    constructor(readonly url: string) {
      sockets.push(this);
    }
    send = (text: string) => this.sent.push(text);
    close = () => this.onclose();
    open() {
      this.readyState = 1;
      this.onopen();
    }
  }
  const settings = {
    wsUrl: 'ws://host/base/',
    token: 'a b',
    appendToken: true,
    WebSocket: FakeSocket
  } as unknown as ServerConnection.ISettings;

  beforeEach(() => {
    sockets.length = 0;
    jest.useFakeTimers();
  });
  afterEach(() => jest.useRealTimers());

  it('closes a connection that is being made once it is there: earlier the browser warns', () => {
    const feed = new LiveFeed(settings);
    feed.watch('k1', true);
    const close = jest.spyOn(sockets[0], 'close');
    feed.watch(null, false);
    expect(close).not.toHaveBeenCalled();
    sockets[0].open();
    expect(close).toHaveBeenCalledTimes(1);
    expect(sockets[0].sent).toEqual([]);
  });

  it('uses one connection, and none where nothing is shown', () => {
    const feed = new LiveFeed(settings);
    feed.watch(null, false);
    expect(sockets).toEqual([]);
    feed.watch('k1', true);
    expect(sockets[0].url).toBe('ws://host/base/kerneldoctor/live?token=a%20b');
    sockets[0].open();
    feed.watch('k1', true);
    feed.watch('k2', false);
    expect(sockets[0].sent).toEqual([
      '{"kernel_id":"k1","detail":true,"cells":false}',
      '{"kernel_id":"k2","detail":false,"cells":false}'
    ]);
    sockets[0].onmessage({ data: '{"kernel_id":"k1"}' });
    expect(feed.shown).toBeNull();
    sockets[0].onmessage({ data: '{"kernel_id":"k2"}' });
    expect(feed.shown).toEqual({ kernel_id: 'k2' });
    feed.watch(null, false);
    expect(feed.shown).toBeNull();
    jest.advanceTimersByTime(100_000);
    expect(sockets).toHaveLength(1);
  });

  it('connects again, more and more seldom, while something is shown', () => {
    const feed = new LiveFeed(settings);
    feed.watch('k1', true);
    for (const wait of [1000, 2000, 4000]) {
      const count = sockets.length;
      sockets[count - 1].close();
      jest.advanceTimersByTime(wait - 1);
      expect(sockets).toHaveLength(count);
      jest.advanceTimersByTime(1);
      expect(sockets).toHaveLength(count + 1);
    }
  });
});
