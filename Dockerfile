# The operators as one image: `quarterdeck run` by default, any other command by its arguments.
# a release names the base by its digest: see `make release-check`
ARG BASE=python:3.13-slim
FROM ${BASE} AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
# the versions that were tested; their hashes would have to cover our own source, too
RUN sed -nE 's/^([A-Za-z0-9._-]+==[^ ;]+).*/\1/p' constraints.txt > versions.txt \
    && python -m venv /opt/quarterdeck \
    && /opt/quarterdeck/bin/pip install --no-cache-dir -c versions.txt ".[speed]"

FROM ${BASE}
COPY --from=build /opt/quarterdeck /opt/quarterdeck
ENV PATH=/opt/quarterdeck/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["quarterdeck"]
CMD ["run"]
