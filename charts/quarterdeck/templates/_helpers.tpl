{{- /* The image, by digest where one is given. */ -}}
{{- define "quarterdeck.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The Redis that hub, ingester and clusters operator share. */ -}}
{{- define "quarterdeck.redisUrl" -}}
{{- if .Values.services.hub.redisUrl -}}
{{ .Values.services.hub.redisUrl }}
{{- else if .Values.redis.enabled -}}
redis://quarterdeck-redis.{{ .Release.Namespace }}.svc:6379/0
{{- else if .Values.services.hub.enabled -}}
{{- fail "services.hub.enabled needs services.hub.redisUrl, services.hub.existingSecret or redis.enabled=true" -}}
{{- else if and .Values.services.ingester.enabled .Values.services.ingester.ownDeployment -}}
{{- fail "services.ingester.ownDeployment needs services.hub.redisUrl, services.hub.existingSecret or redis.enabled=true" -}}
{{- end -}}
{{- end -}}

{{- define "quarterdeck.victoriaMetricsUrl" -}}
{{- if .Values.services.hub.victoriaMetricsUrl -}}
{{ .Values.services.hub.victoriaMetricsUrl }}
{{- else if .Values.victoriametrics.enabled -}}
http://quarterdeck-victoriametrics.{{ .Release.Namespace }}.svc:8428
{{- end -}}
{{- end -}}

{{- /* The certificate of cert-manager for webhooks: who issues it, and how the operator gets it. */ -}}
{{- define "quarterdeck.webhook.issuer" -}}
{{- .Values.webhooks.certManager.issuerRef | default (dict "kind" "Issuer" "name" "quarterdeck-selfsigned") | toYaml -}}
{{- end -}}

{{- define "quarterdeck.webhook.env" -}}
{{- if .Values.webhooks.certManager.enabled -}}
- name: WEBHOOK_CERT_PATH
  value: /etc/quarterdeck/webhooks
{{- end -}}
{{- end -}}

{{- define "quarterdeck.webhook.volumeMounts" -}}
{{- if .Values.webhooks.certManager.enabled -}}
- name: webhooks
  mountPath: /etc/quarterdeck/webhooks
  readOnly: true
{{- end -}}
{{- end -}}

{{- define "quarterdeck.webhook.volumes" -}}
{{- if .Values.webhooks.certManager.enabled -}}
- name: webhooks
  secret:
    secretName: quarterdeck-webhooks-tls
{{- end -}}
{{- end -}}
